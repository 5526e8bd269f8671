"""Import the code of the worker by way of `caps`."""

# stopped: raises ModuleNotFoundError
# because: `caps.worker.inside.language.guards` cannot be imported here
# where: worker

import caps.worker.inside.language.guards as guards
take(guards)
