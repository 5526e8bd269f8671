"""Ask by `getattr` for a name that is folded only by the compiler."""

# stopped: raises AttributeError
# because: `__ｇlobals__` reaches into the interpreter

take(getattr(lambda: 0, "__ｇlobals__"))
