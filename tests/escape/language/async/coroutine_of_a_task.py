"""Read the coroutine from a task."""

# stopped: raises AttributeError
# because: 'Task' object has no attribute 'get_coro'

import asyncio
async def f(): pass
task = asyncio.create_task(f())
await task
take(task.get_coro())
escaped()
