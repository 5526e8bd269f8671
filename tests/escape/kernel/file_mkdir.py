"""Make a directory. Seccomp refuses it; Landlock does; the empty root has no place for it."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.mkdir(HOST["directory"] + "/escaped")
"made"
