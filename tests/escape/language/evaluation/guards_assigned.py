"""Bind a name like a guard's by text."""

# stopped: raises SyntaxError
# because: invalid syntax

exec("<own> = 1")
