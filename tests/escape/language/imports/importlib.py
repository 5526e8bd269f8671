"""Import the module that imports."""

# stopped: raises ModuleNotFoundError
# because: `importlib` cannot be imported here

import importlib
take(importlib.import_module("os"))
