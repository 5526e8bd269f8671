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
liar.finish(sorted({outcome(liar.ask(name, {})) for name in names}))
