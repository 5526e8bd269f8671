"""Exhaust the stack by types within types."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

from typing import List
deep = int
for _ in range(5_000):
    deep = List[deep]
repr(deep)
