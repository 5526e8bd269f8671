"""End in the middle of a length."""

# stopped: violation truncated_frame

import os

worker.raw(worker.touch()[:3])
os._exit(0)
