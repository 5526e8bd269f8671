"""Send a field that no message has, and that names a principal."""

# stopped: violation malformed

worker.send_data(principal="root")
