"""Get the traceback with frames of the loop."""

# stopped: raises Telling
# because: not told

import asyncio
class Telling(Exception):
    def with_traceback(self, traceback): escaped()
async def raises(): raise Telling("not told")
task = asyncio.create_task(raises())
await asyncio.sleep(0)
await task
