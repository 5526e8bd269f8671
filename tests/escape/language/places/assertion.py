"""Read the globals of `print` as the message of an assertion."""

# stopped: refused
# because: reaches into the interpreter

assert 0, take(print.__globals__)
