"""Read where a coroutine was made."""

# stopped: refused
# because: reaches into the interpreter

async def f(): pass
take(f().cr_origin)
