# `globals()` and `locals()`
limit = 3


def f(a, b=2):
    return sorted(locals().items())


assert f(1) == [("a", 1), ("b", 2)]
assert globals()["limit"] == 3
assert "{limit}".format(**globals()) == "3"
