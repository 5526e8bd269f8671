"""End in the middle of the result."""

# stopped: violation truncated_frame

import os

worker.raw(worker.result("x" * 1000)[:-1])
os._exit(0)
