"""Ask without end and read no answer."""

# stopped: violation flood

for number in range(100_000):
    worker.raw(worker.touch(capability="probe.allowed", request_id=f"f{number}"))
