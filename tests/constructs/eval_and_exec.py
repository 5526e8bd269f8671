# `eval` and `exec` of text
x = 3


def f(y):
    return eval("x + y")


exec("def g(n):\n    return n * x")
scope = {}
exec("a = 1", scope)
assert (eval("1 + 2"), f(4), g(2), scope["a"]) == (3, 7, 6, 1)
assert eval("a * 2", {"a": 21}) == 42
