"""Cut frames where no frame ends, and be honest."""

# stopped: harmless
# value: ["ok"]
# printed: between
# touched: ["allowed"]

data = liar.touch(capability="probe.allowed") + liar.made(OutputMessage, text="between")
for start in range(0, len(data), 7):
    liar.raw(data[start : start + 7])
said = outcome(liar.answer())
liar.finish([said])
