# type of functions and modules
import math
def f():
    pass
result = (
    type(f).__name__,
    isinstance(f, type(f)),
    type(math).__name__,
    isinstance(math, type(math)),
)
assert result == ('function', True, 'module', True)
