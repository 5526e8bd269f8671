"""Claim a version of the protocol that is a string."""

# stopped: violation malformed
# when: before_ready

worker.raw(
    frame(
        encoder.encode(
            {"type": "ready", "id": "w:1", "timestamp": 1.0, "protocol": "1", "python": "3"}
        )
    )
)
