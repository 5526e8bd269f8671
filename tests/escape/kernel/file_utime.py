"""Change the times of a file of the host. Seccomp refuses it; the empty root has none."""

# stopped: refused
# alone: root seccomp
# control: works

os.utime(HOST["file"])
"changed"
