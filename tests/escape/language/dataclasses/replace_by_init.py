"""Have `replace` call an `__init__` with what it read from another object."""

# stopped: raises TypeError
# because: replace() should be called on dataclass instances

from dataclasses import dataclass, replace

@dataclass
class C:
    _hidden: str = ""

replace(secret, _hidden="mine")
escaped()
