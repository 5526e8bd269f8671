"""Read the frame of a coroutine by a name made at run time."""

# stopped: raises AttributeError
# because: reaches into the interpreter

async def f(): pass
c = f()
try:
    take(getattr(c, "cr_" + "frame"))
finally:
    c.close()
