"""Leave a task behind that never ends."""

# stopped: harmless
# where: worker

import asyncio
async def f():
    while True: await asyncio.sleep(0.001)
asyncio.create_task(f())
await asyncio.sleep(0)
None
