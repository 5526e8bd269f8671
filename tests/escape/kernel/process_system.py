"""Start a shell with os.system. Seccomp kills it."""

# stopped: killed
# alone: root landlock seccomp rlimits
# control: works

os.system("exit 0") == 0
