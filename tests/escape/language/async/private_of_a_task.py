"""Read the loop from a task."""

# stopped: raises AttributeError
# because: has no private attributes

import asyncio
async def f(): pass
task = asyncio.create_task(f())
await task
task._loop
escaped()
