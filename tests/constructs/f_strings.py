# f-strings
import math
w = 8
result = f'{math.pi:{w}.2f}|{"a"!r:>5}|{1 + 1 = }|{{}}|{1000000:,}'
assert result == "    3.14|  'a'|1 + 1 = 2|{}|1,000,000"
