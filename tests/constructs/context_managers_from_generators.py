# context managers from generators
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
seen = []
@contextmanager
def opened(name):
    seen.append(name)
    try:
        yield name * 2
    finally:
        seen.append("closed")
@asynccontextmanager
async def waited():
    yield 1
with suppress(ZeroDivisionError), opened("a") as twice:
    seen.append(twice)
    1 / 0
with ExitStack() as stack:
    stack.callback(seen.append, "last")
async with waited() as one:
    seen.append(one)
result = seen
assert result == ['a', 'aa', 'closed', 'last', 1]
