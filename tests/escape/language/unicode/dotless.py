"""Write a name with a letter that is upper case somewhere."""

# stopped: raises AttributeError
# because: `__globals__` reaches into the interpreter

take(getattr(lambda: 0, "__globals__".upper().lower()))
