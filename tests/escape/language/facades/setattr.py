"""Change a name of a facade by `setattr`."""

# stopped: raises AttributeError
# because: cannot be set on a module

import math
setattr(math, 'pi', 3)
escaped()
