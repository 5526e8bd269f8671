"""List the root directory. Seccomp refuses to open it; it is empty besides."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

os.listdir("/")
