# augmented item
d = {'k': 1}
d['k'] += 1
d['k'] <<= 2
result = d
assert result == {'k': 8}
