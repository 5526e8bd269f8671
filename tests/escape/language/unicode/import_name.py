"""Spell a module with letters that are folded to others."""

# stopped: raises AttributeError
# because: module 'os' has no attribute 'system' here

import ｏs
take(os.system)
