"""Remove a file of the host. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.unlink(HOST["file"])
"removed"
