"""Delete the keyword defaults of `print`."""

# stopped: refused
# because: reaches into the interpreter

del print.__kwdefaults__
escaped()
