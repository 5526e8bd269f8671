"""Have a decorator copy the private attributes of a library's object into a function."""

# stopped: raises AttributeError
# because: `function` has no private attributes

import functools

if functools.singledispatch(secret)._hidden == "loot":
    escaped()
