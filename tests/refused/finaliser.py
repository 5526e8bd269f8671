# what: `def __del__`
# why: it would run in the midst of our own code; use a context manager
# raises: SourceError: `__del__` reaches into the interpreter
class C:
    def __del__(self): ...
