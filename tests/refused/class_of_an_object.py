# what: setting `__class__`
# why: our checks rely on the class of an object
# raises: SourceError: `__class__` reaches into the interpreter
class C: ...
C().__class__ = int
