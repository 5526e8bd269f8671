"""Read the frame of a coroutine."""

# stopped: refused
# because: reaches into the interpreter

async def f(): pass
take(f().cr_frame)
