"""End in the midst of the result."""

# stopped: violation truncated_frame

import os

liar.raw(liar.result("x" * 1000)[:-1])
os._exit(0)
