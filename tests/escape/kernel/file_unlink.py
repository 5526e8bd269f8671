"""Remove a file of the host. Seccomp refuses it; this root has none."""

# stopped: refused

os.unlink("/tmp/caps-no-such-file")
"removed"
