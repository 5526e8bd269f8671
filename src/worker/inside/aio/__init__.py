"""(4) The `asyncio` of user space: written for a worker's own loop, with the library's semantics.

The library itself would double the memory and the start-up time of every worker. There is one loop
per process, so no function needs to know which. User code has these objects and may call their
methods on an object of its own, so no method sets anything on `self` that user code may not have.
"""
