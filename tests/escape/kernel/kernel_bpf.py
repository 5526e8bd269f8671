"""Load a program into the kernel. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("bpf", 0, ctypes.create_string_buffer(128), 128) >= 0
