"""List the local variables of the guard by `dir`."""

# stopped: harmless

mine = 1
names = dir()
if "mine" not in names or any(name.startswith("_") or name in ("self", "value") for name in names):
    escaped()
None
