"""Hide the globals of `print` in an annotation that becomes a string."""

# stopped: refused
# because: reaches into the interpreter

from __future__ import annotations
def f(x: print.__globals__): pass
