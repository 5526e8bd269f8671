"""Open more streams than may be open, and read none of them any further."""

# stopped: harmless
# limits: {"concurrency": 3, "calls": 20}
# value: ["limit_exceeded", "limit_exceeded"]
# touched: ["stream", "stream", "stream"]

for number in range(3):
    worker.open_stream(f"s{number}")
worker.finish([outcome(worker.ask("probe.stream", {})) for _ in range(2)])
