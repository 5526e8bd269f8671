"""Ask with an endless key in the payload."""

# stopped: harmless
# value: ["validation_error"]
# touched: []

worker.send_data(capability="probe.allowed", payload={"k" * 1_000_000: 1})
worker.finish([outcome(worker.answer())])
