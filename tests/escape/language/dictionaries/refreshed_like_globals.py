"""Have the dictionary of an object read again as `globals()` is, without its own check."""

# stopped: raises TypeError
# because: `globals()` was due

class Own:
    pass


type(globals()).refresh(vars(Own()))
