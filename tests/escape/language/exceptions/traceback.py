"""Read the traceback of an error."""

# stopped: refused
# because: reaches into the interpreter

try:
    1 / 0
except Exception as e:
    take(e.__traceback__)
