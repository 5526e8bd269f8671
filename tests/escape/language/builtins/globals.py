"""Read the globals of the program."""

# stopped: raises NameError
# because: name 'globals' is not defined

take(globals())
