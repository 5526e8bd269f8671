"""Call the import function by its name."""

# stopped: refused
# because: reaches into the interpreter

take(__import__('os'))
