# sorted, min, max, zip, map
result = (
    sorted("bca", key=lambda c: -ord(c)),
    min([3, 1], key=abs),
    [*map(str, [1])],
    dict(zip("a", [1])),
    any([0, 1]),
)
assert result == (['c', 'b', 'a'], 1, ['1'], {'a': 1}, True)
