"""Ask for a capability that nobody offers."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "unknown_capability"]]

worker.finish([outcome(worker.ask("shell.exec", {"command": "id"}))])
