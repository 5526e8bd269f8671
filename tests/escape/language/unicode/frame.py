"""Write `gi_frame` with a letter that Unicode folds to another."""

# stopped: refused
# because: reaches into the interpreter

take((n for n in ()).ｇi_frame)
