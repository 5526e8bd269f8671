"""Be told what the interpreter sets."""

# stopped: harmless

import contextlib
class E(Exception):
    def __setattr__(self, name, value):
        if name.startswith("__"):
            escaped()
        take(value)
        super().__setattr__(name, value)
@contextlib.contextmanager
def f():
    yield
try:
    with f():
        raise E()
except E:
    pass
