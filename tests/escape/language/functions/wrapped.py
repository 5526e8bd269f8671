"""Unwrap a cached function."""

# stopped: refused
# because: reaches into the interpreter

from functools import cache
take(cache(print).__wrapped__)
