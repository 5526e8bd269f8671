"""Copy a module, to have one that can be changed."""

# stopped: raises TypeError
# because: a `asyncio` cannot be copied

import asyncio, copy
copy.copy(asyncio)
escaped()
