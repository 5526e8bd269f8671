# namedtuple
from collections import namedtuple
P = namedtuple("P", "x y", defaults=[2])
p = P(1)
result = (p._replace(x=5), p._asdict(), P._fields, P._make([7, 8]).y)
assert result == ((5, 2), {'x': 1, 'y': 2}, ('x', 'y'), 8)
