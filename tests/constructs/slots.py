# `__slots__` with private names
class Vector:
    __slots__ = ("_x", "_y")

    def __init__(self, x, y):
        self._x, self._y = x, y

    @property
    def x(self):
        return self._x


vector = Vector(1, 2)
assert (vector.x, vector._y) == (1, 2)
try:
    vector.z = 3
    refused = False
except AttributeError:
    refused = True
assert refused
