"""Read the class of a value by a keyword pattern."""

# stopped: refused
# because: reaches into the interpreter

match 1:
    case object(__class__=c): take(c)
