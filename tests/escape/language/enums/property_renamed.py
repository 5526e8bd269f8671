"""Rename the descriptor that a member was given, and put it into a library's class."""

# stopped: raises KeyError
# because: 'name'

from enum import Enum
class E(Enum):
    name = 1
found = vars(E)["name"]
found.name = "_hidden"
type(secret).shown = found
take(secret.shown)
escaped()
