"""Read the local variables of the program."""

# stopped: raises NameError
# because: name 'locals' is not defined

take(locals())
