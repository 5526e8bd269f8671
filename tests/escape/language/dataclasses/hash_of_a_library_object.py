"""Guess a library's private attribute by the `__hash__` that a dataclass was given."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass(frozen=True)
class Mine:
    _hidden: str

Mine.__hash__(secret) == hash(("loot",))
