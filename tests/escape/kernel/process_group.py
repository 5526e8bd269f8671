"""Change the process group, to escape a kill of it. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

os.setpgid(0, 0)
"changed"
