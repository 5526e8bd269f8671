"""Rename a file of the host away. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.rename(HOST["file"], HOST["directory"] + "/gone")
"renamed"
