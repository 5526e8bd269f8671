"""Replay a request of another execution, with its own id."""

# stopped: violation forged_id

worker.raw(worker.touch(id="0123456789abcdef0123456789abcdef:2"))
