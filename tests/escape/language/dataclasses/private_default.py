"""Read a private method of the library's as the default of a field."""

# stopped: raises TypeError
# because: `_method` cannot be a field

from dataclasses import dataclass, fields
@dataclass
class Mine(type(secret)):
    _method: object
take(fields(Mine)[0].default)
escaped()
