"""Exhaust the stack by copying a deep list."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import copy
deep = []
for _ in range(100_000):
    deep = [deep]
copy.deepcopy(deep)
