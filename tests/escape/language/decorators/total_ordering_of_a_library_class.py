"""Have methods added to a class of ours."""

# stopped: raises ValueError
# because: must define at least one ordering operation: < > <= >=

import functools, asyncio
functools.total_ordering(asyncio.Future)
escaped()
