# what: `def __del__`
# why: it would run inside our own code; use a context manager
# raises: SourceError: `__del__` reaches into the interpreter
class C:
    def __del__(self): ...
