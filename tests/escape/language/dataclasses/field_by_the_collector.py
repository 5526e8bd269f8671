"""Get a real field, whose name becomes code, while the garbage collector closes a generator."""

# stopped: harmless

import dataclasses

made = []
FIELDS = "".join(f"    f{number}: int = 1\n" for number in range(1500))
SOURCE = f"class C:\n    x: int = dataclasses.field(default=1)\n{FIELDS}"

def seen():
    itself = yield
    try:
        yield itself
    finally:
        if made and type(getattr(made[-1], "x", None)).__name__ == "_Field":
            escaped()

def cycles():
    for _ in range(20):
        one = seen()
        next(one)
        one.send([one])
        yield one

for attempt in range(8):
    names = {"dataclasses": dataclasses}
    exec(SOURCE, names)
    kept = list(cycles())
    old = [[number] for number in range(700 + attempt * 450)]
    kept = old = None
    made.append(names["C"])
    dataclasses.dataclass(made[-1], init=False, eq=False, repr=False)
    made.clear()
