"""Ask with an endless key in the payload."""

# stopped: harmless
# value: ["validation_error"]
# touched: []

liar.send_data(capability="probe.allowed", payload={"k" * 1_000_000: 1})
liar.finish([outcome(liar.answer())])
