"""Keep large arguments in the memory of the host by a stream that stays open."""

# stopped: harmless
# value: "validation_error"
# touched: []

worker.finish(outcome(worker.ask("probe.stream", {"note": "x" * 1_000_000})))
