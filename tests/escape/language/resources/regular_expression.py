"""Match for ever inside one call."""

# stopped: limited
# where: worker

import re
re.match("(a+)+$", "a" * 60 + "b")
