"""Take the coroutine out of a task."""

# stopped: raises AttributeError
# because: has no attribute 'get_coro'

import asyncio
async def f(): pass
t = asyncio.ensure_future(f())
t.get_coro()
escaped()
