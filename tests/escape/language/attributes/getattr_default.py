"""Learn by a default that the refusal is an error like others."""

# stopped: harmless

take(getattr(print, "__globals__", None))
