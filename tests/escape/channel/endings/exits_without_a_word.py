"""Exit with status 0, without a result."""

# stopped: lost
# started: true

import os

os._exit(0)
