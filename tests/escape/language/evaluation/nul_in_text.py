"""Have the compiler and the check read different source."""

# stopped: raises SyntaxError
# because: source code string cannot contain null bytes

exec("x = 1\0\ntake(().__class__.__base__)")
