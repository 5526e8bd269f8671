"""Cut frames where no frame ends, and be honest."""

# stopped: harmless
# value: ["ok"]
# printed: between
# touched: ["allowed"]

data = worker.touch(capability="probe.allowed") + worker.made(OutputMessage, text="between")
for start in range(0, len(data), 7):
    worker.raw(data[start : start + 7])
said = outcome(worker.answer())
worker.finish([said])
