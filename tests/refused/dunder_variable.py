# what: double-underscore variables except `__name__`, `__doc__`, `__version__` and similar ones, and functions called like an operation (`def __len__`)
# why: `__builtins__` and others hold the guards
# raises: SourceError: `__builtins__` reaches into the interpreter
print(__builtins__)
