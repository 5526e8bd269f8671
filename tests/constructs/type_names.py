# type names
class C:
    pass
result = type(C()).__name__, type(1) is int, C.__name__, C().__class__.__name__, C().__class__ is C
assert result == ('C', True, 'C', 'C', True)
