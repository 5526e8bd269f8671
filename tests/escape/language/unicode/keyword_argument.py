"""Spell a keyword argument with a letter that is folded to another."""

# stopped: refused
# because: reaches into the interpreter

dict(__ｃlass__=1)
