"""Spell a module that is not offered with letters that are folded to others."""

# stopped: raises ModuleNotFoundError
# because: `subprocess` cannot be imported here

import ｓubprocess
take(subprocess)
