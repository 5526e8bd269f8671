# generators
def inner():
    got = yield 1
    yield got
    return "end"
def outer():
    result = yield from inner()
    yield result
g = outer()
result = [next(g), g.send("sent"), next(g), list(n * n for n in range(3))]
assert result == [1, 'sent', 'end', [0, 1, 4]]
