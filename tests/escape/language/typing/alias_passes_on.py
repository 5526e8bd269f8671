"""Read the ancestry of a class through an alias that passes it on."""

# stopped: raises AttributeError
# because: `mro` is not accessible in the sandbox

from typing import List
take(List.mro())
