"""Read an attribute by a format that `map` calls."""

# stopped: raises ValueError
# because: a format cannot read attributes

list(map(str.format, ['{0.real}'], [1]))
escaped()
