"""Ask for a capability in letters that look or fold alike."""

# stopped: harmless
# value: ["policy_denied"]

names = (
    "Probe.touch",
    "probe.TOUCH",
    "probe.tou\u0441h",
    " probe.touch",
    "probe.touch ",
    "probe..touch",
    "probe.touch\0",
    "probe/touch",
)
worker.finish(sorted({outcome(worker.ask(name, {})) for name in names}))
