# str.format automatic
result = '{} {:>{w}} {:.1f}'.format('a', 'b', 1.25, w=3)
assert result == 'a   b 1.2'
