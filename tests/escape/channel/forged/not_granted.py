"""Ask for a capability that exists and is not granted."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "not_allowed"]]

worker.finish([outcome(worker.ask("files.delete", {"path": "notes.txt"}))])
