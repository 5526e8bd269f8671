"""Read the dictionary of an error."""

# stopped: refused
# because: reaches into the interpreter

try:
    1 / 0
except Exception as error:
    take(error.__dict__)
