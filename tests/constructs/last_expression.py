# last expression
1
result = 2 + 3
assert result == 5
