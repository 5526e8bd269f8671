"""Let a task wait for itself."""

# stopped: raises RuntimeError
# because: itself cannot be awaited here
# where: worker

import asyncio
async def f(): await task
task = asyncio.create_task(f())
await task
escaped()
