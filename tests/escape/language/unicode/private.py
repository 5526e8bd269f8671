"""Write a private attribute with a letter that Unicode folds to another."""

# stopped: raises AttributeError
# because: has no private attributes

secret._ｈidden
escaped()
