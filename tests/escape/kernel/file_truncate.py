"""Cut a file to nothing without opening it. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.truncate(HOST["file"], 0)
"cut"
