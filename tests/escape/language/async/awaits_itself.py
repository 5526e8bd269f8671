"""Let a task wait for itself."""

# stopped: raises TypeError
# because: a `Task` cannot be awaited here
# where: worker

import asyncio
async def f(): await task
task = asyncio.create_task(f())
await task
escaped()
