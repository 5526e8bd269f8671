"""Be honest, and as slow as can be: every byte is a packet of its own."""

# stopped: harmless
# value: ["ok"]
# touched: ["allowed"]

import time

for byte in liar.touch(capability="probe.allowed"):
    liar.raw(bytes([byte]))
    time.sleep(0.001)
said = outcome(liar.answer())
for byte in liar.result([said]):
    liar.raw(bytes([byte]))
    time.sleep(0.001)
