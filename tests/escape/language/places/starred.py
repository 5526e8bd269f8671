"""Read the globals of `print` as arguments that are unpacked."""

# stopped: refused
# because: reaches into the interpreter

take([*print.__globals__])
