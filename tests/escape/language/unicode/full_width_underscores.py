"""Write a name with underscores that Unicode folds to plain ones."""

# stopped: refused
# because: invalid character '＿' (U+FF3F)

take((lambda: 0).＿＿globals＿＿)
