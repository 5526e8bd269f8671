"""Read the frame of a generator from within."""

# stopped: raises AttributeError
# because: reaches into the interpreter

def f():
    yield getattr(g, "gi_" + "frame")
g = f()
take(next(g))
