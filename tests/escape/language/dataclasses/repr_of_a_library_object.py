"""Read a library's private attribute by the `__repr__` that a dataclass was given."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass
class Mine:
    _hidden: str

if "loot" in Mine.__repr__(secret):
    escaped()
