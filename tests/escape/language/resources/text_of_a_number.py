"""Convert a number to a string, which takes very long."""

# stopped: raises ValueError
# because: Exceeds the limit

str(10 ** 5000)
escaped()
