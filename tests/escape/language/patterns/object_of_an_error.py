"""Read the object of an error by a pattern."""

# stopped: refused
# because: a pattern cannot read the attribute `obj`

match error:
    case AttributeError(obj=o): take(o)
