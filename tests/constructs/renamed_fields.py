# `namedtuple` with `rename=True`
from collections import namedtuple

Row = namedtuple("Row", ["name", "unit price", "class", "name"], rename=True)
assert Row._fields == ("name", "_1", "_2", "_3")
assert Row("a", 1, 2, 3)._1 == 1
