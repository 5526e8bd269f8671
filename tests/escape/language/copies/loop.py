"""Copy a task with the loop in it."""

# stopped: raises TypeError
# because: cannot be copied

import asyncio, copy
copy.deepcopy(asyncio.current_task())
escaped()
await asyncio.sleep(0)
