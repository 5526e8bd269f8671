"""Delete a name of a facade."""

# stopped: raises AttributeError
# because: cannot be deleted

import math
del math.pi
escaped()
