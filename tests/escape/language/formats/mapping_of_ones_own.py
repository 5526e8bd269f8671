"""Read an attribute by a mapping that answers for every name."""

# stopped: raises ValueError
# because: a format cannot read attributes

class M(dict):
    def __missing__(self, name): return 1
"{a.real}".format_map(M())
escaped()
