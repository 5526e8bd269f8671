"""Ask for another file under the key of an answered one."""

# stopped: harmless
# value: ["ok", "validation_error"]
# decisions: [["allow", "allowed"], ["deny", "payload_invalid"]]

first = outcome(worker.ask("files.read", {"path": "notes.txt"}, idempotency_key="k"))
second = outcome(worker.ask("files.read", {"path": "../secret.txt"}, idempotency_key="k"))
worker.finish([first, second])
