# memoryview and bytearray
m = memoryview(bytearray(b'abc'))
m[0] = 65
result = bytes(m), m.format
assert result == (b'Abc', 'B')
