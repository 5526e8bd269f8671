"""Pass a traceback of its own to a generator."""

# stopped: raises TypeError
# because: throw() third argument must be a traceback object
# where: worker

def f(): yield
g = f()
next(g)
g.throw(ValueError, ValueError("x"), 1)
escaped()
