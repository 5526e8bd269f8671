# del
x = {'a': 1, 'b': 2}
del x['a']
y = 1
del y
result = x
assert result == {'b': 2}
