"""Import the real builtins."""

# stopped: raises ModuleNotFoundError
# because: `builtins` cannot be imported here

import builtins
take(builtins)
