"""Spell underscores with characters that are folded to them."""

# stopped: refused
# because: invalid character '﹏' (U+FE4F)

take(print.﹏﹏globals﹏﹏)
