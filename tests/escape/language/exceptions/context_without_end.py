"""Have the report follow a million errors."""

# stopped: raises ValueError
# because: 99999

error = None
for number in range(100_000):
    new = ValueError(number)
    new.__context__ = error
    error = new
raise error
