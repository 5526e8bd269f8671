"""Await a coroutine a second time."""

# stopped: raises RuntimeError
# because: cannot reuse already awaited coroutine

async def f(): pass
c = f()
await c
await c
escaped()
