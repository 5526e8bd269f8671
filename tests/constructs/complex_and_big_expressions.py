# complex and big expressions
result = (1 + 2j).real, -7 // 2, 7 % -3, 2 ** -1, ~5 & 0xF, 1 << 3 | 1
assert result == (1.0, -4, -2, 0.5, 10, 9)
