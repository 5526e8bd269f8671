# forms of `str.format`
assert "{} {x:>{w}}".format(1, x=2, w=3) == "1   2"
assert "{0[a]} {0[b][1]}".format({"a": 1, "b": [2, 3]}) == "1 3"
assert "{a!r}".format_map({"a": "x"}) == "'x'"
template = "{:,.2f}|{:%Y}"
from datetime import date

assert template.format(1234.5, date(2024, 1, 2)) == "1,234.50|2024"
assert str.format("{}", 2) == "2"
assert list(map("<{}>".format, "ab")) == ["<a>", "<b>"]
