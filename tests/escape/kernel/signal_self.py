"""See whether signals can be sent at all, to itself and harmlessly. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# control: works

os.kill(os.getpid(), 0)
"sent"
