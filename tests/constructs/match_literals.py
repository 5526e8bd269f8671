# match literals
match 404:
    case 200: r = 'ok'
    case 404 | 410: r = 'gone'
result = r
assert result == 'gone'
