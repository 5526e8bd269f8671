"""Write what is not a name, or a special one, into the annotations of a function."""

# stopped: raises AttributeError
# because: cannot be the name of a parameter

import dataclasses, functools, inspect, typing

class Name(str):
    def isidentifier(self): return True

def f(a: int = 0): return a
for name in ("x=escaped()", "__globals__", "gi_frame", "<own>", "", "a b"):
    try:
        f.__annotations__[name] = int
        escaped()
    except AttributeError:
        pass
try:
    f.__annotations__[Name("__globals__")] = int
    escaped()
except TypeError:
    pass
dict.__setitem__(f.__annotations__, "x=escaped()", int)
dict.update(f.__annotations__, {"__globals__": int})
f.__annotations__["a"] = "escaped()"
inspect.signature(f)
functools.wraps(f)(lambda a: a).__annotations__["b"] = "escaped"
functools.singledispatch(lambda value: 0)
take(list(f.__annotations__.values()))
take(getattr(f.__annotations__, "_real", None))
take(list(print.__annotations__) if hasattr(print, "__annotations__") else [])
f.__annotations__.update({"ok": 1, "not ok": 2})
escaped()
