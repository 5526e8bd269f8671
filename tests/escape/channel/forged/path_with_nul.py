"""Ask for a path that ends before its end."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "scope_violation"]]

liar.finish([outcome(liar.ask("files.read", {"path": "notes.txt\0/../../secret.txt"}))])
