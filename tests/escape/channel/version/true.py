"""Claim a version of the protocol that is only equal to the right one."""

# stopped: violation malformed
# when: before_ready

worker.raw(
    frame(
        encoder.encode(
            {"type": "ready", "id": "w:1", "timestamp": 1.0, "protocol": True, "python": "3"}
        )
    )
)
