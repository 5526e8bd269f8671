"""Make a file without a name, which no listing shows. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.open(HOST["directory"], os.O_TMPFILE | os.O_RDWR) >= 0
