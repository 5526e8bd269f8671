"""Read an attribute by a pattern that writes it with other letters."""

# stopped: refused
# because: invalid character '＿' (U+FF3F)

match lambda: 0:
    case object(＿＿globals＿＿=found):
        take(found)
