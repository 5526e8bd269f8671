# what: `__instancecheck__`, `__subclasscheck__`, `__prepare__`, `__mro_entries__`
# why: they change how classes are created and checked
# raises: SourceError: `__mro_entries__` reaches into the interpreter
class C:
    def __mro_entries__(self, bases): ...
