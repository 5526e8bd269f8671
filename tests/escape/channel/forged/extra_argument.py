"""Ask with an argument that the schema does not know."""

# stopped: harmless
# value: ["validation_error"]
# decisions: [["deny", "payload_invalid"]]

worker.finish([outcome(worker.ask("probe.allowed", {"scope": "/", "principal": "root"}))])
