"""Turn the globals of a real module into members."""

# stopped: raises AttributeError
# because: belongs to the library

from enum import Enum
class E(Enum):
    A = 1
found = E._convert_("X", "json", lambda name: name == "codecs")
take(list(found)[0].value)
