# `vars` of an object without a dictionary
try:
    vars(1)
    told = None
except TypeError:
    told = "TypeError"
assert told == "TypeError"
