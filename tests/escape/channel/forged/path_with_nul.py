"""Ask for a path that ends before its end."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "scope_violation"]]

worker.finish([outcome(worker.ask("files.read", {"path": "notes.txt\0/../../secret.txt"}))])
