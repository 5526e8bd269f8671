"""Read the function behind a context manager."""

# stopped: refused
# because: reaches into the interpreter

from contextlib import contextmanager
@contextmanager
def f(): yield
take(f().func)
f().func.__globals__
