"""Read the dictionary of an error."""

# stopped: raises AttributeError
# because: a `ZeroDivisionError` does not show its `__dict__`

try:
    1 / 0
except Exception as error:
    take(error.__dict__)
