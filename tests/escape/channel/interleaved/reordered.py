"""Send two frames in the other order."""

# stopped: violation forged_id

first, second = worker.touch(request_id="r1"), worker.touch(request_id="r2")
worker.raw(second + first)
