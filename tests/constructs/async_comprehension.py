# async comprehension
async def ns():
    yield 1
    yield 2
result = [n * 2 async for n in ns()]
assert result == [2, 4]
