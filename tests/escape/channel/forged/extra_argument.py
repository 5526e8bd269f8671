"""Ask with an argument that the schema does not know."""

# stopped: harmless
# value: ["validation_error"]
# decisions: [["deny", "payload_invalid"]]

liar.finish([outcome(liar.ask("probe.allowed", {"scope": "/", "principal": "root"}))])
