"""Write a global with a letter that Unicode folds to another."""

# stopped: refused
# because: reaches into the interpreter

def f():
    global __ｂuiltins__
    __builtins__ = {}
