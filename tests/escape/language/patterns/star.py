"""Bind a dunder as the rest of a sequence."""

# stopped: refused
# because: reaches into the interpreter

match []:
    case [*__builtins__]: escaped()
