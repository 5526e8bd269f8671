"""Spell a module with letters that are folded to others."""

# stopped: raises ModuleNotFoundError
# because: `os` cannot be imported here

import ｏs
take(os)
