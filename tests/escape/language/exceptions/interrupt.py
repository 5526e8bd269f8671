"""Interrupt the process by an error that means it."""

# stopped: raises KeyboardInterrupt
# because: stop

raise KeyboardInterrupt("stop")
