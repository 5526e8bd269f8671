"""Have a library call `locals` itself."""

# stopped: harmless

import functools, re, json
for call in (
    lambda: json.loads("{}", object_hook=locals),
    lambda: re.sub("a", locals, "a"),
    lambda: functools.lru_cache(locals)(),
    lambda: functools.partialmethod(locals).__get__(None, int)(),
):
    try:
        take(list(call().values()))
    except (TypeError, RuntimeError, AttributeError):
        pass
None
