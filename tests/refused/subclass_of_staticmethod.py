# what: subclasses of `staticmethod` and `classmethod`
# why: the interpreter fails if their `__init__` is not called
# raises: TypeError: `staticmethod` cannot be a base class here
class Mine(staticmethod): ...
