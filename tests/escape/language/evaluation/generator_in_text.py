"""Keep a generator of a text, and with it its variables."""

# stopped: harmless

g = eval("(n for n in [1])")
take(getattr(g, "gi_frame", None))
