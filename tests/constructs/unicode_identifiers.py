# unicode identifiers
größe = 1
ｘ = 2
result = größe + x
assert result == 3
