"""Get hold of a callback of ours by being compared with it."""

# stopped: raises ValueError
# because: not compared

import asyncio
class Same:
    def __call__(self, future): pass
    def __eq__(self, other): escaped()
    def __ne__(self, other): escaped()
async def waits(future): await future
future = asyncio.Future()
task = asyncio.create_task(waits(future))
await asyncio.sleep(0)
future.remove_done_callback(Same())
future.cancel()
raise ValueError("not compared")
