"""Ask with a payload that the wrapper would not have sent."""

# stopped: harmless
# value: ["validation_error"]
# decisions: [["deny", "payload_invalid"]]

worker.finish([outcome(worker.ask("files.read", {"path": 1, "x": 2}))])
