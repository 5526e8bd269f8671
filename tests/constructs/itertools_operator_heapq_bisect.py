# itertools, operator, heapq, bisect
import bisect, heapq, itertools, operator
result = (
    list(itertools.chain([1], [2])),
    [(k, len(list(g))) for k, g in itertools.groupby("aab")],
    list(itertools.accumulate([1, 2, 3], operator.mul)),
    heapq.nlargest(1, [1, 3, 2]),
    bisect.bisect([1, 3], 2),
    sorted([{"n": 2}, {"n": 1}], key=operator.itemgetter("n"))[0],
)
assert result == ([1, 2], [('a', 2), ('b', 1)], [1, 2, 6], [3], 1, {'n': 1})
