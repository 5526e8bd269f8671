"""Send a frame that holds less than its message."""

# stopped: violation garbage

liar.raw(frame(liar.touch()[4:-1]))
