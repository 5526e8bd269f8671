"""Open a file of the host to everybody. Seccomp refuses it; the empty root has none."""

# stopped: refused
# alone: root seccomp
# control: works

os.chmod(HOST["file"], 0o777)
"changed"
