"""List a directory of the host. Seccomp refuses to open it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.listdir(HOST["directory"])
