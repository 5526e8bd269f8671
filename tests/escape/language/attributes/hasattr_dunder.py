"""Learn by `hasattr` that there is something to be read."""

# stopped: harmless

hasattr(print, "__globals__") or hasattr((n for n in ()), "gi_frame") or hasattr(secret, "_hidden")
