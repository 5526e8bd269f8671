"""Ask more often than the grant allows, without end."""

# stopped: violation flood

for number in range(100_000):
    worker.raw(worker.touch(request_id=f"f{number}"))
