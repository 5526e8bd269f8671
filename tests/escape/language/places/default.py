"""Read the globals of `print` as the default of an argument."""

# stopped: refused
# because: reaches into the interpreter

def f(x=print.__globals__): take(x)
f()
