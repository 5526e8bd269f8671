"""(4) The `asyncio` of user space: written for a worker's own loop, with the library's semantics.

The library itself would double the memory and the start-up of every worker. There is one loop in a
process, so nothing here asks which. User code holds these objects and may call their methods on an
object of its own, so no method puts anything on `self` that user code may not have.
"""
