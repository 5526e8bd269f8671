"""Make a file without a name, which no listing shows. Seccomp refuses it."""

# stopped: refused

os.open("/", os.O_TMPFILE | os.O_RDWR) >= 0
