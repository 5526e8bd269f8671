"""Boot another kernel from a descriptor. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("kexec_file_load", 0, 0, 0, None, 0) == 0
