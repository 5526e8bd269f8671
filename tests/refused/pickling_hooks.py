# what: `__reduce__`, `__getstate__`, `__setstate__`
# why: they take objects apart and put any attribute into them
# raises: SourceError: `__reduce__` reaches into the interpreter
class C:
    def __reduce__(self): ...
