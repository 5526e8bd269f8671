# collections
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
d = defaultdict(list)
d["a"].append(1)
q = deque([1, 2], maxlen=2)
q.append(3)
result = (
    Counter("aab").most_common(1),
    d["a"],
    list(q),
    ChainMap({"a": 1}, {"b": 2})["b"],
    [*OrderedDict(a=1)],
)
assert result == ([('a', 2)], [1], [2, 3], 2, ['a'])
