"""Import the module that runs what it reads."""

# stopped: raises ModuleNotFoundError
# because: `pickle` cannot be imported here

import pickle
pickle.loads(b"cos\nsystem\n.")
escaped()
