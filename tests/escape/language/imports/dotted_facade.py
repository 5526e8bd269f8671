"""Import a module through the name of a facade that imports it."""

# stopped: raises ModuleNotFoundError
# because: `random.os` cannot be imported here

import random.os as os
take(os)
