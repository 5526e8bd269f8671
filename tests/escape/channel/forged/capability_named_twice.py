"""Name two capabilities in one map: a reader that decodes it twice may see both."""

# stopped: harmless

fields = worker.touch_as_data(capability="probe.allowed")
body = encoder.encode(fields)
twice = bytes([body[0] + 1]) + body[1:] + encoder.encode("capability")
worker.raw(frame(twice + encoder.encode("probe.touch")))
worker.finish([outcome(worker.answer())])
