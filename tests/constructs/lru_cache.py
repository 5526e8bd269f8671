# lru_cache
from functools import cache, cached_property, lru_cache, partial, reduce, total_ordering
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
calls = []
class C:
    @cached_property
    def slow(self):
        "says slow"
        calls.append(1)
        return 5
    @cache
    def f(self):
        return 6
@total_ordering
class N:
    def __init__(self, n):
        self.n = n
    def __eq__(self, o):
        return self.n == o.n
    def __lt__(self, o):
        return self.n < o.n
c = C()
result = (
    fib(50),
    fib.cache_info().hits > 0,
    fib.cache_info()._asdict()["misses"],
    c.slow + c.slow,
    len(calls),
    C.slow.__doc__,
    c.f(),
    partial(pow, 2)(5),
    reduce(lambda a, b: a * b, [2, 3]),
    N(2) >= N(1),
)
assert result == (12586269025, True, 51, 10, 1, 'says slow', 6, 32, 6, True)
