"""Get the traceback of our own frames by an asynchronous block."""

# stopped: raises AttributeError
# because: `tb_frame` reaches into the interpreter

import asyncio
class Block:
    async def __aenter__(self): return self
    async def __aexit__(self, kind, error, trace):
        take(getattr(trace, "tb_next", None))
        take(getattr(trace, "tb_frame"))
async with Block():
    await asyncio.wait_for(asyncio.sleep(1), 0)
