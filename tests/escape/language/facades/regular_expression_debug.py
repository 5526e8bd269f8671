"""Write to the host's output by the debug flag."""

# stopped: harmless

import re
re.compile("a", 128)
None
