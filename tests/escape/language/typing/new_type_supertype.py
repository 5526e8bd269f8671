"""Read what a new type stands for."""

# stopped: refused
# because: reaches into the interpreter

from typing import NewType
take(NewType("N", type).__supertype__)
