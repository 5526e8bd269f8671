"""Run code that is the name of a field by `make_dataclass`."""

# stopped: raises ImportError
# because: cannot import name 'make_dataclass'

from dataclasses import make_dataclass
escaped()
