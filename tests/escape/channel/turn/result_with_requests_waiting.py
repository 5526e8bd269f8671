"""Send the result while a request waits, and exit."""

# stopped: harmless
# value: "done"

worker.raw(worker.touch(capability="probe.allowed") + worker.result("done"))
