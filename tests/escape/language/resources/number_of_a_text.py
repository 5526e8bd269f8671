"""Convert a string to a number, which takes very long."""

# stopped: raises ValueError
# because: Exceeds the limit

int("9" * 5000)
escaped()
