# re
import re
m = re.match(r"(?P<y>\d+)-(\w)", "12-ab")
result = (m.group("y"), m.groups(), re.sub("a", lambda m: m[0] * 2, "ba", flags=re.I))
assert result == ('12', ('12', 'a'), 'baa')
