"""Make a file with the old creat call. Seccomp refuses it; RLIMIT_FSIZE would leave it empty."""

# stopped: refused
# control: works
# only: x86_64

raw("creat", b"escaped", 0o600) >= 0
