# what: `__reduce__`, `__getstate__`, `__setstate__`
# why: they expose the state of objects and can set any attribute
# raises: SourceError: `__reduce__` reaches into the interpreter
class C:
    def __reduce__(self): ...
