"""Ask with a number that is larger than any may be."""

# stopped: harmless
# value: ["validation_error"]
# decisions: [["deny", "payload_invalid"]]

worker.send_data(capability="files.read", payload={"path": 1 << 63})
worker.finish([outcome(worker.answer())])
