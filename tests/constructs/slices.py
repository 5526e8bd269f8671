# slices
x = list(range(6))
x[1:3] = ['a']
del x[-1]
result = x[::2]
assert result == [0, 3]
