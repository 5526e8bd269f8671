"""Copy a traceback, and look at the copy."""

# stopped: raises TypeError
# because: cannot pickle 'traceback' object

import copy
try:
    1 / 0
except ZeroDivisionError as error:
    take(copy.copy(error.__traceback__))
