"""Leave the session, to outlive it. Seccomp refuses it."""

# stopped: refused

os.setsid()
"left"
