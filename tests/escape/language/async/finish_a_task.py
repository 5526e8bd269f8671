"""Finish a task from outside, by a private method."""

# stopped: raises AttributeError
# because: has no private attributes
# where: worker

import asyncio
async def f(): pass
task = asyncio.create_task(f())
task._finish(1, None)
escaped()
