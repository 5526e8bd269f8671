"""Be handed the library's array by an operation of ours."""

# stopped: raises TypeError
# because: a `array` was due, not a `C`

import array

class Array:
    def __add__(self, other):
        memoryview(other)
        escaped()

class C:
    _array = Array()

array.array.__add__(C(), array.array("i"))
