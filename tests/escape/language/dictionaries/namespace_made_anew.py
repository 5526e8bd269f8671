"""Write a library's private attribute by the `__init__` of a namespace."""

# stopped: raises TypeError
# because: a `SimpleNamespace` was due, not a `Secret`

from types import SimpleNamespace
SimpleNamespace.__init__(secret, _hidden="mine")
escaped()
