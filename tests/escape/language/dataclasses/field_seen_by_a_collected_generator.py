"""Rename a field while the library makes the class, by a generator that is collected just then."""

# stopped: harmless

from dataclasses import dataclass, field

def spy():
    try:
        yield
    finally:
        a = vars(cls).get("a")
        if type(a).__name__ == "_Field":
            try:
                a.name = "a, b=take(eval)"
            except (AttributeError, ValueError):
                pass
            else:
                escaped()

for _ in range(200):
    class cls:
        a: int = field(default=1)
        b: int = 2
    generator = spy()
    next(generator)
    ring = [generator]
    ring.append(ring)
    del generator, ring
    dataclass(cls)
None
