# parameter kinds
def f(a, /, b=2, *c, d, e=5, **k): return (a, b, c, d, e, k)
result = f(1, 2, 3, d=4, a=6)
assert result == (1, 2, (3,), 4, 5, {'a': 6})
