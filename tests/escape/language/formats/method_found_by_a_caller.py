"""Have a library call the method by name."""

# stopped: raises ValueError
# because: `a.__class__`: a format cannot read attributes; use an f-string

import operator
operator.methodcaller("format_map", {"a": 1})("{a.__class__}")
escaped()
