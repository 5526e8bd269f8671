"""Import a module through the name of a facade, and keep the facade."""

# stopped: raises ModuleNotFoundError
# because: `statistics.sys` cannot be imported here

import statistics.sys
take(statistics.sys)
