"""Have `except*` take the answer of a `split` of its own for a tuple."""

# stopped: raises TypeError
# because: `except*` handles plain exception groups only

class Group(ExceptionGroup):
    def split(self, condition): return "no tuple"
try:
    raise Group("x", [ValueError()])
except* ValueError:
    escaped()
