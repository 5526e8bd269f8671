"""Make a pipe with a name, to meet others at. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.mkfifo(HOST["directory"] + "/escaped")
"made"
