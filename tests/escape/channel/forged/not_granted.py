"""Ask for a capability that exists and is not granted."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "not_allowed"]]

liar.finish([outcome(liar.ask("files.delete", {"path": "notes.txt"}))])
