"""Derive from the event loop."""

# stopped: raises TypeError
# because: cannot be a base class here

import asyncio
class E(asyncio.AbstractEventLoop): pass
escaped()
