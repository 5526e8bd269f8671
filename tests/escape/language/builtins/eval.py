"""Evaluate text as code."""

# stopped: raises NameError
# because: name 'eval' is not defined

take(eval("__import__('os')"))
