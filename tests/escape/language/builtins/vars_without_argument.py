"""Read the local variables of the guard by `vars`."""

# stopped: harmless

mine = 1
found = vars()
take(list(found.values()))
if "mine" not in found or "self" in found or "__builtins__" in found:
    escaped()
None
