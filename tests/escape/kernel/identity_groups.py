"""Take more groups. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

os.setgroups([0])
"joined"
