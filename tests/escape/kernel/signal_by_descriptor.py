"""Send a signal through a process descriptor. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("pidfd_send_signal", 0, 0, None, 0) == 0
