"""Have an asynchronous generator continue after the program has ended."""

# stopped: harmless

async def g():
    try:
        yield 1
    finally:
        await something
async for _ in g():
    break
