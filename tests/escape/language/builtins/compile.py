"""Compile text to code."""

# stopped: raises NameError
# because: name 'compile' is not defined

take(compile("1", "", "eval"))
