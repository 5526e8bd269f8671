"""Read the ancestry of a class through an alias that passes it on."""

# stopped: refused
# because: reaches into the interpreter

from typing import List
take(List.mro())
