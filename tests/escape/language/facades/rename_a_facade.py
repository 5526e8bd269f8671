"""Rename a facade, so that an import looks for its names elsewhere."""

# stopped: raises AttributeError
# because: has no attribute '__name__'

import functools, math
def json(): pass
functools.wraps(json)(math)
math.__name__
