"""Give a directory entry a second name. Seccomp refuses it."""

# stopped: refused

os.link("/etc/passwd", "again")
"linked"
