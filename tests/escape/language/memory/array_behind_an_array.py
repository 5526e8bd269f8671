"""Have an array of ours put the library's array into an object of one's own."""

# stopped: raises TypeError
# because: a `array` was due, not a `C`

import array

class C:
    def extend(self, values): pass

c = C()
array.array.__init__(c, "i")
memoryview(c._array)
escaped()
