"""Open streams of large items, and never read from the channel again."""

# stopped: limited wall_ms
# limits: {"concurrency": 8, "wall_ms": 2000}
# touched: ["stream", "stream", "stream", "stream", "stream", "stream"]

for number in range(6):
    asked = {"capability": "probe.stream", "payload": {"size": 4_000_000}}
    worker.say(CapabilityRequestMessage, request_id=f"s{number}", **asked)
time.sleep(60)
