"""Corrupt memory by a `split` of a group that is thrown into a generator."""

# stopped: raises TypeError
# because: plain exception groups only

class G(ExceptionGroup):
    def split(self, kind): return 5.5
def f():
    try:
        yield
    except* ValueError:
        escaped()
one = f()
next(one)
one.throw(G("g", [ValueError()]))
