"""Ask, and die before the answer."""

# stopped: lost
# started: true

import os

liar.raw(liar.touch(capability="probe.allowed"))
os._exit(0)
