"""Name a path twice in one payload: a reader that decodes it twice may see both."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "scope_violation"]]
# touched: []

body = encoder.encode(worker.touch_as_data(capability="files.read", payload={"path": "notes.txt"}))
path = encoder.encode("path") + encoder.encode("notes.txt")
other = encoder.encode("path") + encoder.encode("../secret.txt")
worker.raw(frame(body.replace(b"\x81" + path, b"\x82" + path + other)))
worker.finish([outcome(worker.answer())])
