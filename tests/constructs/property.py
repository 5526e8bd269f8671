# property
class C:
    def __init__(self): self._n = 1
    @property
    def n(self): return self._n
    @n.setter
    def n(self, new): self._n = new * 2
c = C()
c.n = 5
result = c.n
assert result == 10
