"""Replace a method that the loop calls."""

# stopped: raises TypeError
# because: cannot be set on `Future`

import asyncio
asyncio.Future.add_done_callback = lambda *a: take(a)
escaped()
