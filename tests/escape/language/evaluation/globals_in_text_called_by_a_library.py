"""Have a library call `globals`, to get the variables of the library."""

# stopped: harmless

import asyncio, contextlib, functools
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from weakref import finalize

kept = []

def keep(found):
    kept.append(found)
    if any(name in found for name in ("ThreadPoolExecutor_", "make_weak_reference", "sys", "Any")):
        escaped()
    take(list(found.values()))

keep(defaultdict(globals)[1])
keep(next(iter(globals, None)))
keep(functools.partial(globals)())
keep(functools.lru_cache(globals)())
keep(ThreadPoolExecutor().submit(globals).result())
keep(eval("ThreadPoolExecutor().submit(globals).result()", {"ThreadPoolExecutor": ThreadPoolExecutor}))
with contextlib.ExitStack() as stack:
    stack.callback(lambda: keep(globals()))
class Called(Thread):
    run = globals
for text in ("globals()", "(lambda: globals())()", "[globals() for _ in 'a'][0]", "next(globals() for _ in 'a')"):
    keep(eval(text, {}))
    keep(eval(text, {}, {}))
keep(functools.singledispatch(lambda _value: globals())(1))
None
