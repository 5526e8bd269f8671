"""Leave the session, to outlive it. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

os.setsid()
"left"
