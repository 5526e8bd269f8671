# what: double-underscore variables but for `__name__`, `__doc__`, `__version__` and their like
# why: `__builtins__` and others hold the guards
# raises: SourceError: `__builtins__` reaches into the interpreter
print(__builtins__)
