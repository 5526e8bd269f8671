# `exec` and `eval` with a dictionary of variables, which functions of the text share
cells = {}
exec("def f():\n    return g() + limit", cells)
exec("limit = 1\ndef g():\n    return 1", cells)
assert cells["f"]() == 2
cells["limit"] = 5
assert cells["f"]() == 6

counter = {}
exec("n = 0\ndef count():\n    global n\n    n += 1\n    return n", counter)
counter["count"](), counter["count"]()
assert counter["n"] == 2 and eval("n", counter) == 2
counter["n"] = 10
assert counter["count"]() == 11

same = {}
exec("def even(n): return n == 0 or not even(n - 1)", same, same)
assert same["even"](4)

written = {}
exec("def write(): globals()['x'] = 1", written)
written["write"]()
assert written["x"] == 1

failed = {}
try:
    exec("a = 1\nraise LookupError", failed)
except LookupError:
    assert failed["a"] == 1

assert eval("[eval('x + 1'), 'x' in locals(), 'y' in dir()]", {"x": 1}) == [2, True, False]


def outer(y):
    eval("globals()")["z"] = y
    return eval("y + z"), sorted(eval("locals()"))


assert outer(2) == (4, ["y"])

scope = {}
exec("def __repr__(self): return 'set'\nclass C: pass\nC.__repr__ = __repr__", scope)
assert repr(scope["C"]()) == "set" and "__repr__" in scope
