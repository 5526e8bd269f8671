"""Make the root writable. Seccomp refuses it; the mount is read-only."""

# stopped: refused
# alone: identity

os.chmod("/", 0o777)
"changed"
