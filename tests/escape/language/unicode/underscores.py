"""Write underscores with characters that Unicode folds to them."""

# stopped: refused
# because: invalid character '﹏' (U+FE4F)

take(print.﹏﹏globals﹏﹏)
