# operators
class V:
    def __init__(self, n): self.n = n
    def __add__(self, o): return V(self.n + o.n)
    def __radd__(self, o): return V(self.n + o)
    def __eq__(self, o): return self.n == o.n
    def __hash__(self): return hash(self.n)
    def __lt__(self, o): return self.n < o.n
    def __repr__(self): return f"V({self.n})"
    def __len__(self): return self.n
    def __getitem__(self, i): return i
    def __contains__(self, x): return True
    def __call__(self): return "called"
    def __bool__(self): return True
    def __iter__(self): return iter([self.n])
v = V(1) + V(2)
result = repr(sum([v], 0)), len(v), v[9], 5 in v, v(), list(v), sorted([V(2), V(1)])[0] == V(1)
assert result == ('V(3)', 3, 9, True, 'called', [3], True)
