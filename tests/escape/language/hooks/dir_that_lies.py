"""Have `dir` list names by a deceptive `str` subclass."""

# stopped: raises TypeError
# because: '<' not supported between instances of 'int' and 'Name'

class Name(str):
    def startswith(self, *prefixes): return False

class C:
    def __dir__(self): return [Name("__globals__"), 1]

take(dir(C()))
