"""Mark a builtin class as a protocol."""

# stopped: raises TypeError
# because: can be only applied to protocol classes

from typing import runtime_checkable
runtime_checkable(int)
escaped()
