"""End in the midst of a length."""

# stopped: violation truncated_frame

import os

liar.raw(liar.touch()[:3])
os._exit(0)
