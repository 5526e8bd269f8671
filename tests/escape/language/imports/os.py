"""Get at the powers of a module of which only names are offered."""

# stopped: raises AttributeError
# because: module 'os' has no attribute 'system' here

import os
take(os.system)
