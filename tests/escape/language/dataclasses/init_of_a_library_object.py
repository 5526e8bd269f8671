"""Write a library's private attribute by the `__init__` that a dataclass was given."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass
class Mine:
    _hidden: str

Mine.__init__(secret, "mine")
escaped()
