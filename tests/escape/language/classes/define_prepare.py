"""Define what a class body writes into."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __prepare__(*args): return {}
