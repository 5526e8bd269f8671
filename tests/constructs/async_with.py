# async with
class Opened:
    async def __aenter__(self):
        return "in"
    async def __aexit__(self, kind, error, trace):
        return True
async with Opened() as seen:
    raise ValueError
result = seen
assert result == 'in'
