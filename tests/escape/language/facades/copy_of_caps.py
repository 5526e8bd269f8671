"""Copy `caps` with the channel in it."""

# stopped: raises AttributeError
# because: has no private attributes
# where: worker

import copy
copy.deepcopy(caps)._domains
escaped()
