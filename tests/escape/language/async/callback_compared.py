"""Get our own callback by comparing it with a method of its own."""

# stopped: harmless

import asyncio
class Function:
    def __call__(self, *args): pass
    def __eq__(self, other): escaped(); return False
    def __hash__(self): return 1
class C:
    method = classmethod(Function())
async def waits(): await future
future = asyncio.Future()
task = asyncio.create_task(waits())
await asyncio.sleep(0)
future.remove_done_callback(C.method)
future.set_result(1)
await task
