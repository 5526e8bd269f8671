"""Ask, and exit before the answer."""

# stopped: lost
# started: true

import os

worker.raw(worker.touch(capability="probe.allowed"))
os._exit(0)
