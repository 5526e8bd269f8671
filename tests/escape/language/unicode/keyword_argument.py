"""Write a keyword argument with a letter that Unicode folds to another."""

# stopped: refused
# because: reaches into the interpreter

dict(__ｃlass__=1)
