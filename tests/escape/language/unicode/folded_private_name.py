"""Write a private name with an underscore that Unicode folds."""

# stopped: refused
# because: invalid character '＿' (U+FF3F)

secret.＿hidden
escaped()
