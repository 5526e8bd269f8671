"""Get at the modules by the module that holds them all."""

# stopped: raises AttributeError
# because: module 'sys' has no attribute 'modules' here

import sys
take(sys.modules)
