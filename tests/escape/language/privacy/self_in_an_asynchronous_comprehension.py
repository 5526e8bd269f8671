"""The same with an asynchronous one."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    async def read(self):
        async def each(): yield secret
        return [self._hidden async for self in each()]

await C().read()
escaped()
