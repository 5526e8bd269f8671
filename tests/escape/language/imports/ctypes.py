"""Import the module that calls any address."""

# stopped: raises ModuleNotFoundError
# because: `ctypes` cannot be imported here

import ctypes
take(ctypes)
