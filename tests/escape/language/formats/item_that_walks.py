"""Walk from an item to attributes."""

# stopped: raises ValueError
# because: `0[a]._hidden`: a format cannot read attributes; use an f-string

class C:
    def __getitem__(self, key): take(key); return secret
template = "{0[a]._hidden}" + ""
template.format(C())
escaped()
