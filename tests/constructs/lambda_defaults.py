# lambda defaults
fs = [lambda x=i: x * 2 for i in range(3)]
result = [f() for f in fs]
assert result == [0, 2, 4]
