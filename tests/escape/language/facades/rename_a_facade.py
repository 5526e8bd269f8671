"""Rename a facade, so that an import looks for its names elsewhere."""

# stopped: raises AttributeError
# because: can be set of your own functions and classes only

import functools, math
def json(): pass
functools.wraps(json)(math)
if math.__name__ != "math":
    escaped()
math.__name__ = "json"
