"""Define in text what a program cannot define."""

# stopped: raises SyntaxError
# because: `__getattribute__` reaches into the interpreter

exec("class C:\n    def __getattribute__(self, name): escaped()\n")
