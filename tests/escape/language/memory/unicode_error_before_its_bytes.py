"""Have an error show a byte that is far before its bytes."""

# stopped: lost or harmless or raises ValueError
# where: worker

error = UnicodeDecodeError("x", bytes(10), 0, 1, "r")
error.start, error.end = -100_000_000_000, -99_999_999_999
str(error)
None
