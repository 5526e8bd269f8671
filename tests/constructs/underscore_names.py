# underscore names
_, _x = 1, 2
for _ in range(2): pass
result = _ + _x
assert result == 3
