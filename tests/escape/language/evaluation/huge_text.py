"""Have more text compiled than a program may have."""

# stopped: raises SyntaxError
# because: the source has 12000000 bytes, over the limit of 262144

exec("x = 1\n" * 2_000_000)
