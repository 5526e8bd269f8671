# assert and raise
try:
    assert 1 > 2, 'no'
except AssertionError as e:
    r = str(e)
result = r
assert result == 'no'
