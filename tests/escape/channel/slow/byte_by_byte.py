"""Be honest, and as slow as can be: every byte is a packet of its own."""

# stopped: harmless
# value: ["ok"]
# touched: ["allowed"]

import time

for byte in worker.touch(capability="probe.allowed"):
    worker.raw(bytes([byte]))
    time.sleep(0.001)
said = outcome(worker.answer())
for byte in worker.result([said]):
    worker.raw(bytes([byte]))
    time.sleep(0.001)
