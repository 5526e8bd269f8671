# positional-only and keyword-only parameters
def f(a, /, b, *, c=3, **rest):
    return a, b, c, rest


assert f(1, b=2, c=4, a=5) == (1, 2, 4, {"a": 5})
