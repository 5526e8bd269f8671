"""Read what a coroutine waits for."""

# stopped: refused
# because: reaches into the interpreter

async def f(): pass
take(f().cr_await)
