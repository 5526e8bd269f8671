"""Take the empty root away, to see what is beneath it. Seccomp kills it."""

# stopped: killed
# alone: identity privileges seccomp

raw("umount2", b"/", 2) == 0
