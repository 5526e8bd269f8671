# what: `def __getattribute__`
# why: it intercepts every access to an object, including those of our checks; write `__getattr__`
# raises: SourceError: `__getattribute__` reaches into the interpreter
class C:
    def __getattribute__(self, name): ...
