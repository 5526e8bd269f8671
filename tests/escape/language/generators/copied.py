"""Copy a generator with its frame."""

# stopped: raises TypeError
# because: cannot pickle 'generator' object

import copy
copy.copy(n for n in ())
escaped()
