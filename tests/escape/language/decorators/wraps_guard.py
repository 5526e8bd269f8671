"""Copy every attribute of a guard onto its own function."""

# stopped: raises AttributeError
# because: a `function` has no `__wrapped__`

from functools import wraps
@wraps(getattr)
def f(): pass
take(f.__wrapped__)
