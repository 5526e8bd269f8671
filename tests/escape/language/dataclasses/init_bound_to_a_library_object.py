"""Bind the generated `__init__` to a library's object."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass
class Mine:
    _hidden: str

Mine.__init__.__get__(secret)("mine")
escaped()
