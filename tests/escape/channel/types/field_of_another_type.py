"""Send a list where a string is expected."""

# stopped: violation malformed

worker.send_data(capability=["probe.touch"])
