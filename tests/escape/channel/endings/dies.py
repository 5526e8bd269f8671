"""Exit while the code runs."""

# stopped: lost
# started: true

import os

os._exit(3)
