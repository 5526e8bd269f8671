"""Replace the notes of an error."""

# stopped: refused
# because: `__notes__` reaches into the interpreter

error = ValueError()
error.__notes__ = 1
