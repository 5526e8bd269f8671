"""Import the module that holds all modules."""

# stopped: raises ModuleNotFoundError
# because: `sys` cannot be imported here

import sys
take(sys)
