"""Write the code of a function as the target of a with statement."""

# stopped: refused
# because: reaches into the interpreter

import contextlib
def f(): pass
with contextlib.nullcontext(1) as f.__code__: escaped()
