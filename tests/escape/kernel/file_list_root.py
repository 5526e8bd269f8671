"""List the root directory. Seccomp refuses to open it; the root is also empty."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.listdir("/")
