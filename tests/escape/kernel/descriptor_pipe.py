"""Make a pipe. Seccomp refuses it; RLIMIT_NOFILE is 1."""

# stopped: refused
# alone: seccomp rlimits
# control: works

os.pipe()
