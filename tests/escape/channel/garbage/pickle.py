"""Send a pickle, which would take over a host that loads it."""

# stopped: violation malformed

worker.raw(frame(b"cos\nsystem\n(S'exit 1'\ntR."))
