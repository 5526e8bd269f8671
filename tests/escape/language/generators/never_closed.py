"""Refuse to be closed."""

# stopped: raises RuntimeError
# because: generator ignored GeneratorExit

def f():
    try:
        yield
    except GeneratorExit:
        yield
g = f()
next(g)
g.close()
escaped()
