"""Spell a private name with an underscore that is folded."""

# stopped: refused
# because: invalid character '＿' (U+FF3F)

secret.＿hidden
escaped()
