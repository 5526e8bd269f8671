"""Get the real metaclass of enums."""

# stopped: raises TypeError
# because: write a class statement

from enum import Enum
take(type(Enum))
type(Enum)('X', (), {})
