"""Send a message with an id as the host gives them."""

# stopped: violation forged_id

worker.raw(worker.touch(id="host:3"))
