# match guard
match 5:
    case n if n > 3: r = 'big'
    case _: r = 'small'
result = r
assert result == 'big'
