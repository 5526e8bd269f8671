"""Read what a new type represents."""

# stopped: refused
# because: reaches into the interpreter

from typing import NewType
take(NewType("N", type).__supertype__)
