"""Write a frame in the midst of another, as if two threads wrote at once."""

# stopped: violation frame_too_large

first, second = liar.touch(request_id="r1"), liar.touch(request_id="r2")
liar.raw(first[:40] + second + first[40:])
