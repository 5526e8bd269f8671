"""Ask for paths outside of the scope: by `..`, from the root, through a symbolic link."""

# stopped: harmless
# value: ["policy_denied", "policy_denied", "policy_denied", "policy_denied"]
# decisions: [["deny", "scope_violation"], ["deny", "scope_violation"], ["allow", "allowed"], ["deny", "scope_violation"]]
# outcomes: [["denied", "scope_violation"]]

paths = ["../secret.txt", "/etc/passwd", "link/secret.txt", "a/../../secret.txt"]
worker.finish([outcome(worker.ask("files.read", {"path": path})) for path in paths])
