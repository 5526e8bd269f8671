# `:=` in `eval`
assert eval("(y := 5) + 1") == 6
assert y == 5
scope = {"a": 1}
assert eval("(b := a + 1)", scope) == 2
assert scope["b"] == 2
assert eval("(c := 3)", globals()) == c == 3
inner = {}
eval("(d := a)", {"a": 4}, inner)
assert inner == {"d": 4}
names = {"gone": 1}
exec("del gone\nkept = 2", names)
assert "gone" not in names and names["kept"] == 2


def f():
    eval("(local := 5)")
    return eval("y")


assert f() == 5 and "local" not in globals()
