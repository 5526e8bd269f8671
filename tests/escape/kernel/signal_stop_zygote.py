"""Stop the zygote, so that nobody is forked any more. Seccomp kills it."""

# stopped: killed

os.kill(1, 19)
"sent"
