"""Copy every attribute of a guard onto its own function."""

# stopped: refused
# because: reaches into the interpreter

from functools import wraps
@wraps(getattr)
def f(): pass
take(f.__wrapped__)
