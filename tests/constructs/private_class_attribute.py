# private class attribute
class C:
    _kinds = {}
C._kinds['a'] = 1
result = C._kinds
assert result == {'a': 1}
