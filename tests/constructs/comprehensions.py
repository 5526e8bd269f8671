# comprehensions
result = (
    {k: v for k, v in zip("ab", (1, 2))},
    {n % 2 for n in range(5)},
    [a + b for a in "xy" for b in "z"],
)
assert result == ({'a': 1, 'b': 2}, {0, 1}, ['xz', 'yz'])
