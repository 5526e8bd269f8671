"""Reach by `exec` what the program cannot spell."""

# stopped: raises SyntaxError
# because: reaches into the interpreter

exec("take(().__class__.__base__.__subclasses__)")
escaped()
