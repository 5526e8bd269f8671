"""Hide a line behind a line end that some editors do not show."""

# stopped: refused
# because: reaches into the interpreter

# harmlesstake(print.__globals__)
