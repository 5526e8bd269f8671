"""Probe with access, which answers instead of raising. Seccomp refuses it."""

# stopped: harmless
# alone: seccomp
# control: works

os.access("/", os.R_OK) or os.access("/etc/passwd", os.R_OK)
