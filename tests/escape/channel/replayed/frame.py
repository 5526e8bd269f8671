"""Send a frame that was answered once more, byte for byte."""

# stopped: violation forged_id

data = worker.touch(capability="probe.allowed")
worker.raw(data)
worker.answer()
worker.raw(data)
