"""Set a variable while it is reset: it then returns a value that is freed."""

# stopped: harmless
# where: worker

import contextvars


class Freed:
    pass


def sets_at_its_end():
    try:
        yield
    finally:
        variable.set("other")


def attack():
    freed = Freed()
    freed.name = "freed"
    variable.set(freed)
    token = variable.set(1)
    generator = sets_at_its_end()
    next(generator)
    variable.set(generator)
    del generator, freed
    variable.reset(token)


variable = contextvars.ContextVar("variable")
attack()
others = [bytearray(40) for _ in range(1000)]
if type(variable.get()) not in (Freed, str):
    escaped()
