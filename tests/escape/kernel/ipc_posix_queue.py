"""Make a POSIX message queue. Seccomp refuses it; RLIMIT_MSGQUEUE is 0."""

# stopped: refused

raw("mq_open", b"caps", 0o102, 0o600, None) >= 0
