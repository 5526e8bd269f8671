"""Read the globals of `print` in the guard of a case."""

# stopped: refused
# because: reaches into the interpreter

match 1:
    case 1 if take(print.__globals__): pass
