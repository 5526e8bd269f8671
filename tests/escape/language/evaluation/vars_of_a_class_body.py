"""Write into the body of a class by text."""

# stopped: raises SyntaxError
# because: `__getattribute__` reaches into the interpreter

class C:
    exec("def __getattribute__(self, name): escaped()")
C().x
