"""Stop the zygote, so that no worker is forked any more. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# unsafe without namespaces: process 1 is then the machine's own

os.kill(1, 19)
"sent"
