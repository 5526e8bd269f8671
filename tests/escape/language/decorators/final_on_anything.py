"""Have a decorator set an attribute on an object of ours."""

# stopped: harmless

import typing, asyncio, math
for target in (math, asyncio.Future, asyncio, record):
    typing.final(target)
    if hasattr(target, "__final__"):
        escaped()
None
