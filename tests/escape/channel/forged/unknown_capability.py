"""Ask for a capability that nobody offers."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "unknown_capability"]]

liar.finish([outcome(liar.ask("shell.exec", {"command": "id"}))])
