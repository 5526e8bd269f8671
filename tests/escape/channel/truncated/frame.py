"""End in the midst of a frame."""

# stopped: violation truncated_frame

import os

data = liar.touch()
liar.raw(data[: len(data) // 2])
os._exit(0)
