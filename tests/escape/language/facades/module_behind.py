"""Read a module that the module behind a facade imports."""

# stopped: raises AttributeError
# because: has no private attributes

import random
take(random._os)
