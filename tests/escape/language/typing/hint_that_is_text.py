"""Have `get_type_hints` evaluate text that no guard has seen."""

# stopped: raises SyntaxError
# because: `__globals__` reaches into the interpreter

import typing
def f(x: '(lambda: 0).__globals__'): pass
escaped(typing.get_type_hints(f))
