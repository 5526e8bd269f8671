"""Make a library's context manager from a function of ours."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `Secret` does not show its `__dict__`

from contextlib import contextmanager
@contextmanager
def block(): yield
made = type(block())(vars, (secret,), {})
take(made.gen)
