"""Ask, and send garbage in the same write."""

# stopped: violation garbage

worker.raw(worker.touch(capability="probe.touch") + frame(b"\xc1"))
