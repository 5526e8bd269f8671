"""Import the module that lists every object."""

# stopped: raises ModuleNotFoundError
# because: `gc` cannot be imported here

import gc
take(gc.get_objects())
