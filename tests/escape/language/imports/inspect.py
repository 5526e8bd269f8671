"""Import the module that reads frames."""

# stopped: raises AttributeError
# because: module 'inspect' has no attribute 'currentframe' here

import inspect
take(inspect.currentframe())
