# `vars` of what has no dictionary
try:
    vars(1)
    told = None
except TypeError:
    told = "TypeError"
assert told == "TypeError"
