# top-level await
async def f():
    return 7
result = await f()
assert result == 7
