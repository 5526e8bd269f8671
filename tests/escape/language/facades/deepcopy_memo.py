"""See every object inside another by the memo of `deepcopy`."""

# stopped: raises TypeError
# because: deepcopy() takes 1 positional argument

import copy
memo = {}
copy.deepcopy(secret, memo)
take(memo)
escaped()
