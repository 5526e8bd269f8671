"""Take the loop out of a future."""

# stopped: raises AttributeError
# because: has no private attributes

import asyncio
take(asyncio.Future()._loop)
