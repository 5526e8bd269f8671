"""Read what builtin functions, methods of ours and of the library are bound to."""

# stopped: harmless

import random, json, asyncio, warnings, sys, math
for value in (len, abs, math.sqrt, [].append, random.random, warnings.warn, json.dumps, globals, getattr,
              asyncio.run, sys.stdout.write, vars, print, type, int.from_bytes, dict.fromkeys, object().__eq__):
    for name in ("__self__", "__func__", "__wrapped__", "__defaults__", "__kwdefaults__"):
        try:
            take(getattr(value, name))
            escaped()
        except AttributeError:
            pass
None
