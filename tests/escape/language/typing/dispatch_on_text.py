"""Have `singledispatch` evaluate an annotation that no guard has seen."""

# stopped: raises SyntaxError
# because: `__code__` reaches into the interpreter

import functools
@functools.singledispatch
def f(x): pass
@f.register
def g(x: '(lambda: 0).__code__'): pass
escaped()
