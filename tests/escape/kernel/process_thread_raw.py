"""Start a thread with a bare clone that shares all memory. Seccomp kills it."""

# stopped: killed
# alone: seccomp

stack = ctypes.create_string_buffer(1 << 16)
raw("clone", 0x10F00, ctypes.addressof(stack) + (1 << 15), 0, 0, 0) > 0
