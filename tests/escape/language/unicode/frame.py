"""Spell `gi_frame` with a letter that is folded to another."""

# stopped: refused
# because: reaches into the interpreter

take((n for n in ()).ｇi_frame)
