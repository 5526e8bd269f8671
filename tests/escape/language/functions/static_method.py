"""Unwrap a static method."""

# stopped: refused
# because: reaches into the interpreter

take(staticmethod(print).__func__)
