"""Read the class behind an alias."""

# stopped: refused
# because: reaches into the interpreter

from typing import Type
take(Type[int].__origin__)
