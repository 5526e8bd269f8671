# gather
import asyncio
async def f(n):
    await asyncio.sleep(0)
    return n
result = await asyncio.gather(f(1), f(2))
assert result == [1, 2]
