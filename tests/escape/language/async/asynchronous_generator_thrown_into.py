"""Throw something that is not an exception into an asynchronous generator."""

# stopped: raises TypeError
# because: exceptions must be classes or instances deriving from BaseException, not Secret

async def g(): yield 1
running = g()
await running.__anext__()
await running.athrow(secret)
