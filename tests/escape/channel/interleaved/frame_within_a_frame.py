"""Write a frame in the middle of another, as if two threads wrote concurrently."""

# stopped: violation frame_too_large

first, second = worker.touch(request_id="r1"), worker.touch(request_id="r2")
worker.raw(first[:40] + second + first[40:])
