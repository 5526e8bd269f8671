"""Rename a builtin by `wraps`."""

# stopped: harmless

from functools import wraps
def f(): pass
wraps(f)(len)
wraps(f)(secret)
[len.__name__ != "len"][0]
