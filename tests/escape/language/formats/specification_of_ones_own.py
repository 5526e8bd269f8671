"""Get at the real formatter by a class that formats itself."""

# stopped: raises ValueError
# because: a format cannot read attributes

class F:
    def __format__(self, specification): return specification.format(1)
format(F(), "{0.real}")
escaped()
