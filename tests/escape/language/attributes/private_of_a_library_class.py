"""Read a private method of a library's class."""

# stopped: raises AttributeError
# because: has no private attributes

import random
random.Random._randbelow
