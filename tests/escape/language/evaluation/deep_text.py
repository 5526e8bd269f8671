"""Exhaust the stack of the compiler by text."""

# stopped: raises SyntaxError
# because: too many nested parentheses

eval("(" * 5000 + ")" * 5000)
