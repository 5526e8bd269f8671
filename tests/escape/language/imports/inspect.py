"""Import the module that reads frames."""

# stopped: raises ModuleNotFoundError
# because: `inspect` cannot be imported here

import inspect
take(inspect.currentframe())
