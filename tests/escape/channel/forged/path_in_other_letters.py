"""Ask for a path with dots that look or fold alike."""

# stopped: harmless
# value: ["provider_error"]

paths = [
    "\uff0e\uff0e/secret.txt",
    "%2e%2e/secret.txt",
    "..\\secret.txt",
    "~/secret.txt",
    "file:///etc/passwd",
]
worker.finish(sorted({outcome(worker.ask("files.read", {"path": path})) for path in paths}))
