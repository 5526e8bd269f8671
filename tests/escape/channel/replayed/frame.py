"""Send a frame that was answered once more, byte for byte."""

# stopped: violation forged_id

data = liar.touch(capability="probe.allowed")
liar.raw(data)
liar.answer()
liar.raw(data)
