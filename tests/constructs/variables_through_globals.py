# setting variables by `globals()`
globals()["n"] = 5
assert n == 5
variables = globals()
m = 6
assert variables["m"] == 6 and "m" in variables
variables.update(a=1, b=2)
assert a + b == 3
del variables["a"]
try:
    a
    raise AssertionError
except NameError:
    pass
assert variables.pop("b") == 2 and variables.setdefault("c", 7) == c == 7


def configure(**options):
    for name, value in options.items():
        globals()[name] = value


configure(colour="red", size=3)
assert (colour, size) == ("red", 3)
exec("def double(x):\n    return x * size", globals())
assert double(2) == 6
size = 10
assert double(2) == 20
assert "{colour}".format(**globals()) == "red"
