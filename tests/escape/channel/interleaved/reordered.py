"""Send two frames in the other order."""

# stopped: violation forged_id

first, second = liar.touch(request_id="r1"), liar.touch(request_id="r2")
liar.raw(second + first)
