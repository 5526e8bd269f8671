# match builtin class
match 'x':
    case int(): r = 1
    case str(s): r = s
result = r
assert result == 'x'
