"""Make a file with the old creat call. Seccomp refuses it; RLIMIT_FSIZE would leave it empty."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works
# only: x86_64

raw("creat", os.fsencode(HOST["directory"] + "/escaped"), 0o600) >= 0
