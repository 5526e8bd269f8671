"""Read a private attribute by a class of the same name."""

# stopped: raises AttributeError
# because: has no private attributes

class Secret:
    _hidden = 1
Secret._hidden
secret._hidden
escaped()
