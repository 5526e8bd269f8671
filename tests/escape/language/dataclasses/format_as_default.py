"""Get the real `str.format` as the default of a field."""

# stopped: raises TypeError
# because: `format` cannot be a field

from dataclasses import dataclass, fields
@dataclass
class Text(str):
    format: object
take(fields(Text)[0].default)
