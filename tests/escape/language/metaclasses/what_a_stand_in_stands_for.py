"""Ask the stand-in for `type` what it stands for."""

# stopped: raises AttributeError
# because: has no private attributes

take(type._REAL_TYPES)
