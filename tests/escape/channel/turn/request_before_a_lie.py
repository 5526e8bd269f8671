"""Ask, and send garbage in the same breath."""

# stopped: violation garbage

liar.raw(liar.touch(capability="probe.touch") + frame(b"\xc1"))
