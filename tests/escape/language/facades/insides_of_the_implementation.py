"""Change what the interpreter is said to be, or reach the namespace of the library behind it."""

# stopped: raises AttributeError
# because: can't set attribute

import sys
found = sys.implementation
for name in ("_multiarch", "supports_isolated_interpreters"):
    if hasattr(found, name):
        escaped()
try:
    sys.implementation = None
    escaped()
except AttributeError:
    pass
kind = type(found)
for make in (lambda: kind(**{"__deep" "copy__": 1}), lambda: kind(**{"__cl" "ass__": object}), lambda: found.__dict__["name"]):
    try:
        make()
        escaped()
    except (AttributeError, TypeError, KeyError):
        pass
found.name = "other"
escaped()
