"""Step a coroutine of ours by hand, and look at what it waits for."""

# stopped: harmless

import asyncio
waiting = asyncio.sleep(0.001)
future = waiting.send(None)
take(future)
take(getattr(future, "_loop", None) or getattr(future, "_callbacks", None))
waiting.close()
None
