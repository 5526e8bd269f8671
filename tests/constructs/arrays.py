# `array`
from array import array

numbers = alias = array("i", [3, 1, 2])
numbers *= 2
assert alias.tolist() == [3, 1, 2, 3, 1, 2]
assert array("i", [1, 2]) <= array("i", [1, 3]) and array("i", [2]) > array("i", [1])
assert numbers.index(1, 2) == 4
match array("b", b"abc"):
    case [first, *rest]:
        assert (first, rest) == (97, [98, 99])
for wrong in (lambda: numbers.frombytes(5), lambda: array("f", "12"), lambda: numbers.__iadd__([1])):
    try:
        wrong()
        raise AssertionError
    except TypeError:
        pass
