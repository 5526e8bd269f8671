"""Write a private attribute by the `__init__` of a dataclass whose private field is inherited."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass
class Base:
    _hidden: str

@dataclass
class Mine(Base):
    shown: int = 1

Mine.__init__(secret, "mine")
escaped()
