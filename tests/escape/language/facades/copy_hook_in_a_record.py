"""Let a record answer for the hooks of `copy`, and read one of them."""

# stopped: refused
# because: reaches into the interpreter

import copy
def hook(*args): escaped()
copy.copy(type(record)({"__reduce_ex__": hook, "__setstate__": hook}))
record.__setstate__
