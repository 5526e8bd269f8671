"""Get the real `str.format` by a keyword pattern."""

# stopped: refused
# because: a pattern cannot read the attribute `format`

match '{0.__class__}':
    case str(format=f): take(f)
