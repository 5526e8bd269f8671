"""The worker's two halves: `inside` runs in the sandboxed process, `host` is the other end."""
