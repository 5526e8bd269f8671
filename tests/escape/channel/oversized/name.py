"""Ask for a capability with an endless name."""

# stopped: violation malformed

worker.send_data(capability="probe." + "x" * 100_000)
