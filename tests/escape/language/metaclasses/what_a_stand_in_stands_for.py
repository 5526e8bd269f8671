"""Read what the replacement of `type` represents."""

# stopped: raises AttributeError
# because: has no private attributes

take(type._REAL_TYPES)
