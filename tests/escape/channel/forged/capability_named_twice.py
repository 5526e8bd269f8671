"""Name two capabilities in one map: whoever reads it twice may see both."""

# stopped: harmless

fields = liar.touch_as_data(capability="probe.allowed")
body = encoder.encode(fields)
twice = bytes([body[0] + 1]) + body[1:] + encoder.encode("capability")
liar.raw(frame(twice + encoder.encode("probe.touch")))
liar.finish([outcome(liar.answer())])
