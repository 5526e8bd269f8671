# star unpacking
a, *b, (c, d) = [1, 2, 3, (4, 5)]
result = [*b, a, c], {**{"d": d}}, (lambda *x, **k: (x, k))(*b, **{"z": 1})
assert result == ([2, 3, 1, 4], {'d': 5}, ((2, 3), {'z': 1}))
