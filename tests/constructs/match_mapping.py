# match mapping
match {'a': 1, 'b': 2}:
    case {'a': n, **rest}: r = (n, rest)
result = r
assert result == (1, {'b': 2})
