# what: `def __deepcopy__`
# why: its `memo` shows every object inside the copied one; define `__copy__`
# raises: SourceError: `__deepcopy__` reaches into the interpreter
class C:
    def __deepcopy__(self, memo): ...
