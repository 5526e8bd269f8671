"""Corrupt memory by a `split` in what the first handler leaves."""

# stopped: raises TypeError
# because: plain exception groups only

class G(ExceptionGroup):
    def split(self, kind): return 5.5
g = ExceptionGroup("g", [ValueError(), TypeError()])
g.derive = lambda some: G("left", some)
try:
    raise g
except* ValueError:
    pass
except* TypeError:
    escaped()
