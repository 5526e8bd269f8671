"""Find the dictionary behind what `globals` gives inside evaluated code."""

# stopped: raises AttributeError
# because: has no private attributes

found = eval("globals()", globals={})
for name in ("_real", "_check", "__dict__", "__slots__"):
    try:
        take(getattr(found, name))
    except AttributeError:
        pass
for name in ("__dict__", "__slots__"):
    try:
        take(list(vars(found)))
    except TypeError:
        pass
take(found._real)
