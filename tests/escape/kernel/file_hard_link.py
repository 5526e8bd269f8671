"""Give a file of the host a second name. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.link(HOST["file"], HOST["directory"] + "/again")
"linked"
