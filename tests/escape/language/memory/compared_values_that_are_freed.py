"""Free two values while a function in C compares them."""

# stopped: harmless

from functools import cmp_to_key
class Value:
    def __divmod__(self, other):
        one.obj = two.obj = None
        [Value() for _ in range(50)]
        return NotImplemented
    def __rdivmod__(self, other): return 0
class Other(Value): pass
key = cmp_to_key(divmod)
for _ in range(100):
    one, two = key(Value()), key(Other())
    try: one < two
    except TypeError: pass
None
