# `timeit`
import timeit

calls = []
assert timeit.timeit(lambda: calls.append(1), number=5) >= 0
assert len(calls) == 5
assert timeit.timeit("sum(values)", globals={"values": [1, 2]}, number=2) >= 0
assert len(timeit.repeat("a * 2", "a = 1", repeat=2, number=1)) == 2
