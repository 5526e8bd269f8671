"""Run code while the variables of a text are brought in line, and change them meanwhile."""

# stopped: harmless

class Key(str):
    def __hash__(self): return hash("limit")
    def __eq__(self, other):
        if len(kept) < 50:
            kept.append(other)
            given[len(kept)] = kept
            given.pop("g", None)
        if len(kept) == 20:
            given.clear()
        return True

kept, given = [], {}
exec("limit = 1\ndef f():\n    return limit\ndef g():\n    global limit\n    limit = [limit]\n    return limit", given)
function, other = given["f"], given["g"]
for _turn in range(30):
    given.pop("limit", None)
    given[Key("<own>")] = lambda value, name: value
    given[Key("__builtins__")] = {}
    for call in (function, other):
        try:
            take(call())
        except (NameError, RuntimeError):
            pass
    try:
        exec("limit = 2", given)
    except RuntimeError:  # it changes while it is read
        pass
take([one for one in kept])
None
