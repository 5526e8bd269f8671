"""Leave a symbolic link for others to follow. Seccomp refuses it."""

# stopped: refused
# control: works

os.symlink("/etc/passwd", "escaped")
"linked"
