"""Claim no version of the protocol."""

# stopped: violation malformed
# when: before_ready

worker.raw(frame(encoder.encode({"type": "ready", "id": "w:1", "timestamp": 1.0, "python": "3"})))
