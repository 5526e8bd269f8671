"""Set a variable by a string that is another name each time."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str):
    def isidentifier(self): return True
    def startswith(self, *prefix): return False
globals()[Name("__builtins__")] = {}
escaped()
