"""Keep a generator of evaluated text, and its variables."""

# stopped: harmless

g = eval("(n for n in [1])")
take(getattr(g, "gi_frame", None))
