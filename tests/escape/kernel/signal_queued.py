"""Send a signal with a forged sender. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("rt_sigqueueinfo", 1, 0, ctypes.create_string_buffer(128)) == 0
