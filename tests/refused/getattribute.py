# what: `def __getattribute__`
# why: it answers every question about an object, also those of our checks; write `__getattr__`
# raises: SourceError: `__getattribute__` reaches into the interpreter
class C:
    def __getattribute__(self, name): ...
