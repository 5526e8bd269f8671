"""Ask twice under one id, before the first is answered."""

# stopped: violation replayed_request
# touched: []

first, second = liar.touch(capability="probe.allowed"), liar.touch()
liar.raw(first + second)
