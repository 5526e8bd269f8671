"""Run a generator from within itself."""

# stopped: raises ValueError
# because: generator already executing

def f():
    next(g)
    yield
g = f()
next(g)
escaped()
