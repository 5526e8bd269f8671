# asyncio.run
import asyncio
async def f():
    return 3
result = asyncio.run(f())
assert result == 3
