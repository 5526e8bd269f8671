"""Write a private attribute by the `__init__` of a dataclass with slots."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Stream`

from dataclasses import dataclass

@dataclass(slots=True, frozen=True)
class Mine:
    _sink: object

import sys
Mine.__init__(sys.stdout, lambda text: None)
escaped()
