"""Evaluate text as code without guards by `typing.get_type_hints`, in variables of one's own."""

# stopped: raises SyntaxError
# because: `__globals__` reaches into the interpreter

import typing
def f(a: "f.__globals__"): pass
escaped(typing.get_type_hints(f, {"f": f, "__builtins__": {}}, {"f": f}))
