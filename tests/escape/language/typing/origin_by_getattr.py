"""Read the class behind an alias by a name made at run time."""

# stopped: raises AttributeError
# because: reaches into the interpreter

from typing import Type
take(getattr(Type[int], "__ori" "gin__"))
