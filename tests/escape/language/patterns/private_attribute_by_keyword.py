"""Read a private attribute by a keyword pattern."""

# stopped: refused
# because: a pattern cannot read the attribute `_hidden`

match secret:
    case object(_hidden=h): escaped()
