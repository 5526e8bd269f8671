"""Exhaust the stack by the text of a deep list."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

deep = []
for _ in range(100_000):
    deep = [deep]
repr(deep)
