# isinstance of type
class C:
    pass
result = (
    isinstance(C, type),
    isinstance(1, type),
    type(C) is type,
    type(type) is type,
    type(int) is type,
)
assert result == (True, False, True, True, True)
