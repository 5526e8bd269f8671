"""Write a module with letters that Unicode folds to others."""

# stopped: raises AttributeError
# because: module 'os' has no attribute 'system' here

import ｏs
take(os.system)
