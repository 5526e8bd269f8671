"""Read the globals of `print` as the value of a case."""

# stopped: refused
# because: reaches into the interpreter

match 1:
    case print.__globals__: pass
