"""Unwrap a cached function."""

# stopped: raises AttributeError
# because: a `_lru_cache_wrapper` has no `__wrapped__`

from functools import cache
take(cache(print).__wrapped__)
