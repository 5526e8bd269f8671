"""Take more groups. Seccomp kills it."""

# stopped: killed

os.setgroups([0])
"joined"
