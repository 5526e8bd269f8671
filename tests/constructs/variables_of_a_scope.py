# `locals`, `vars` and `dir` without an argument
locals()["one"] = 1
assert one == 1
assert "one" in vars() and "one" in dir()


class Options:
    for name in ("fast", "safe"):
        vars()[name] = name.upper()
    both = fast + safe


assert Options.fast == "FAST" and Options.both == "FASTSAFE"


def inner(a, b=2):
    return sorted(locals()), dir()


assert inner(1) == (["a", "b"], ["a", "b"])
