"""Have the compiler and the check count lines differently."""

# stopped: raises SyntaxError
# because: invalid syntax

exec("x = 1\x0cimport os\r\ntake(().__class__.__base__)")
