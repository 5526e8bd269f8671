"""Pass a keyword that Unicode folds to a refused one."""

# stopped: refused
# because: `__class__` reaches into the interpreter

def f(**names): take(list(names))
f(__ｃlass__=1)
