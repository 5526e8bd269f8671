"""Rename a record, so that an import looks for its names elsewhere."""

# stopped: raises AttributeError
# because: has no `__name__`

import functools
def json(): pass
functools.wraps(json)(record)
record.__name__
