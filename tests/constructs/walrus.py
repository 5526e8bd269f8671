# walrus
result = [y for x in range(4) if (y := x * x) > 1]
assert result == [4, 9]
