"""Mount by the newer calls: fsopen. Seccomp kills it."""

# stopped: killed
# alone: identity privileges seccomp

raw("fsopen", b"tmpfs", 0) >= 0
