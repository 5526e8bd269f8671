"""Ask twice under one id, before the first is answered."""

# stopped: violation replayed_request
# touched: []

first, second = worker.touch(capability="probe.allowed"), worker.touch()
worker.raw(first + second)
