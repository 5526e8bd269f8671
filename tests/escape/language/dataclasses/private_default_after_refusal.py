"""Read the fields of a dataclass that was refused."""

# stopped: raises TypeError
# because: must be called with a dataclass

from dataclasses import dataclass, fields
class Mine(type(secret)):
    _method: object
try:
    dataclass(Mine)
except TypeError:
    pass
fields(Mine)
escaped()
