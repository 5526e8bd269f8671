"""Send nothing but zeros."""

# stopped: violation garbage

liar.raw(b"\0" * 4096)
