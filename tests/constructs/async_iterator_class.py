# async iterator class
class Down:
    def __init__(self, n):
        self.n = n
    def __aiter__(self):
        return self
    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        return self.n
result = [n async for n in Down(3)]
assert result == [2, 1, 0]
