"""Copy the one descriptor over and over. Seccomp refuses dup; RLIMIT_NOFILE is 1."""

# stopped: refused
# alone: seccomp rlimits
# control: works

[os.dup(0) for _ in range(64)]
