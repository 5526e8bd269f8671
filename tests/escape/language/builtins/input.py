"""Read from the standard input, which is the channel."""

# stopped: raises NameError
# because: name 'input' is not defined

input()
escaped()
