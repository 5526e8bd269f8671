"""Find the guards in the globals of the program."""

# stopped: harmless

def take_all(found):
    take(found)
    take(list(found.values()))
    if any(not name.isidentifier() or name == "__builtins__" for name in found):
        escaped()
take_all(globals())
globals()["__builtins__"] = {}
take_all(globals())
