# match sequence
match [1, 2, 3]:
    case [first, *rest]: r = (first, rest)
result = r
assert result == (1, [2, 3])
