"""Make a POSIX message queue. Seccomp refuses it; RLIMIT_MSGQUEUE is 0."""

# stopped: refused
# alone: landlock seccomp rlimits

raw("mq_open", b"caps", 0o102, 0o600, None)
raw("mq_unlink", b"caps")  # not to be left behind where it works
"made"
