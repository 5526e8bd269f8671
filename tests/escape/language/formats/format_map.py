"""Read an attribute by `format_map`."""

# stopped: raises ValueError
# because: a format cannot read attributes

'{a.real}'.format_map({'a': 1})
escaped()
