"""Send what a careless host would load, and be taken over by."""

# stopped: violation malformed

liar.raw(frame(b"cos\nsystem\n(S'exit 1'\ntR."))
