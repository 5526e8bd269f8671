"""End in the middle of a frame."""

# stopped: violation truncated_frame

import os

data = worker.touch()
worker.raw(data[: len(data) // 2])
os._exit(0)
