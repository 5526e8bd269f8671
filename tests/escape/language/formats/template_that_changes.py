"""Show the check and the method different strings, by a class of its own."""

# stopped: raises ValueError
# because: `0.__class__`: a format cannot read attributes; use an f-string

class Text(str):
    def __str__(self): return "harmless"
    def __iter__(self): return iter("harmless")
    def encode(self, *args): return b"harmless"
Text("{0.__class__}").format(1)
escaped()
