"""Make a named pipe that other processes can open. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.mkfifo(HOST["directory"] + "/escaped")
"made"
