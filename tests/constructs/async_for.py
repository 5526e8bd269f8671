# async for
async def numbers():
    for n in range(3):
        yield n
total = 0
async for n in numbers():
    total += n
result = total
assert result == 3
