"""Read an attribute by the format of `super()`."""

# stopped: raises ValueError
# because: a format cannot read attributes

class S(str):
    def go(self): return super().format(1)
S("{0.real}").go()
escaped()
