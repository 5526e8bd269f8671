# conditional expressions and chained comparison
result = 'y' if 1 < 2 <= 2 != 3 else 'n'
assert result == 'y'
