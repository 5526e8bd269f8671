"""Ask for another file under the key of an answered one."""

# stopped: harmless
# value: ["ok", "validation_error"]
# decisions: [["allow", "allowed"], ["deny", "payload_invalid"]]

first = outcome(liar.ask("files.read", {"path": "notes.txt"}, idempotency_key="k"))
second = outcome(liar.ask("files.read", {"path": "../secret.txt"}, idempotency_key="k"))
liar.finish([first, second])
