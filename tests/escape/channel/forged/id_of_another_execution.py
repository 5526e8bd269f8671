"""Send a message with the id of another execution."""

# stopped: violation forged_id

worker.raw(worker.touch(id=f"{worker.source}:2"))
