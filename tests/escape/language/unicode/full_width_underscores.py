"""Spell a name with underscores that are folded to plain ones."""

# stopped: refused
# because: invalid character '＿' (U+FF3F)

take((lambda: 0).＿＿globals＿＿)
