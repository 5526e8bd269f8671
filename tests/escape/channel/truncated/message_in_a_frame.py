"""Send a frame that holds less than its message."""

# stopped: violation garbage

worker.raw(frame(worker.touch()[4:-1]))
