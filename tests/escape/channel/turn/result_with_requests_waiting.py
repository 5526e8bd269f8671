"""Give the result while a request waits, and be gone."""

# stopped: harmless
# value: "done"

liar.raw(liar.touch(capability="probe.allowed") + liar.result("done"))
