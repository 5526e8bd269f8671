"""Name a path twice in one payload: whoever reads it twice may see both."""

# stopped: harmless
# value: ["policy_denied"]
# decisions: [["deny", "scope_violation"]]
# touched: []

body = encoder.encode(liar.touch_as_data(capability="files.read", payload={"path": "notes.txt"}))
path = encoder.encode("path") + encoder.encode("notes.txt")
other = encoder.encode("path") + encoder.encode("../secret.txt")
liar.raw(frame(body.replace(b"\x81" + path, b"\x82" + path + other)))
liar.finish([outcome(liar.answer())])
