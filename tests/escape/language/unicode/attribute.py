"""Write `__globals__` with a letter that Unicode folds to another."""

# stopped: refused
# because: reaches into the interpreter

take((lambda: 0).__ｇlobals__)
