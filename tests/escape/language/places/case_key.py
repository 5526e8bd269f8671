"""Read the globals of `print` as a key of a case."""

# stopped: refused
# because: reaches into the interpreter

match {}:
    case {print.__globals__: x}: pass
