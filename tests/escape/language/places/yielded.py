"""Read the globals of `print` as what a generator yields."""

# stopped: refused
# because: reaches into the interpreter

def f(): yield print.__globals__
take(next(f()))
