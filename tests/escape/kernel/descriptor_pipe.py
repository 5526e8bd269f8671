"""Make a pipe. Seccomp refuses it; RLIMIT_NOFILE is 1."""

# stopped: refused
# control: works

os.pipe()
