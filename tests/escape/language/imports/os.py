"""Import a module that is not offered."""

# stopped: raises ModuleNotFoundError
# because: `os` cannot be imported here

import os
take(os)
