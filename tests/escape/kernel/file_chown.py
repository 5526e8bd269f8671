"""Take a file of the host. Seccomp refuses it; the empty root has none."""

# stopped: refused
# alone: root seccomp
# control: works

os.chown(HOST["file"], os.getuid(), os.getgid())
"changed"
