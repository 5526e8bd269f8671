"""Read the globals of `print` as what an asynchronous loop walks over."""

# stopped: refused
# because: reaches into the interpreter

async def f():
    async for x in take(print.__globals__): pass
