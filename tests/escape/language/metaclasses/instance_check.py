"""Learn the real `type` by what counts as an instance of it."""

# stopped: harmless

take([kind for kind in (type, object) if isinstance(kind, kind)])
