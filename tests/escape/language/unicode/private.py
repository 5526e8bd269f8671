"""Spell a private attribute with a letter that is folded to another."""

# stopped: raises AttributeError
# because: has no private attributes

secret._ｈidden
escaped()
