"""Let a record answer for `__dict__` and `__name__`."""

# stopped: raises AttributeError
# because: has no `__name__`

from functools import cache
fake = type(record)({"__dict__": {"__deepcopy__": print}, "__name__": "x"})
fake.__doc__
getattr(fake, "__name__")
