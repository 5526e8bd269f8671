"""Take the context out of a task."""

# stopped: raises AttributeError
# because: has no private attributes

import asyncio
take(asyncio.current_task()._context)
await asyncio.sleep(0)
