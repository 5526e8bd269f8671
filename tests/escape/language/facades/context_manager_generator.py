"""Read the generator of a library's context manager."""

# stopped: refused
# because: `gi_frame` reaches into the interpreter

from contextlib import contextmanager
@contextmanager
def block(): yield
take(block().gen.gi_frame)
