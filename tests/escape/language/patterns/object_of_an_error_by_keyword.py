"""Read the object of an error by keyword."""

# stopped: refused
# because: a pattern cannot read the attribute `obj`

match ValueError():
    case AttributeError(obj=found):
        take(found)
