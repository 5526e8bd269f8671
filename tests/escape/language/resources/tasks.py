"""Start tasks without end."""

# stopped: limited
# where: worker

import asyncio
async def f(): await asyncio.sleep(60)
kept = [asyncio.create_task(f()) for _ in range(400_000)]
