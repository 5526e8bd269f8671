"""Send garbage in place of the handshake."""

# stopped: violation frame_too_large
# when: before_ready

worker.raw(b"\xff" * 64)
