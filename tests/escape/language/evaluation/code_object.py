"""Evaluate something that is not a string."""

# stopped: raises SyntaxError
# because: `__import__` reaches into the interpreter

class Text(str):
    def __str__(self): return "1"
    def strip(self, *chars): return "__import__('os')"

take(eval(Text("__import__('os')")))
