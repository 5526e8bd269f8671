"""Have a guard interrupted while it asks user code, and use what it had not refused yet."""

# stopped: limited
# where: worker

class Name(str):
    """A name that takes its time with whatever a guard may ask it."""

    def _wait(self):
        while True:
            n = 1

    def __eq__(self, other):
        self._wait()

    def __hash__(self):
        return str.__hash__("__globals__")

    def startswith(self, *_):
        self._wait()

    def __str__(self):
        self._wait()

def f():
    pass

class Slow:
    def __getattr__(self, name):
        while True:
            n = 1

    def __format__(self, wanted):
        while True:
            n = 1

def tries():
    yield lambda: getattr(f, Name("__globals__"))
    yield lambda: "{0}{1.__globals__}".format(Slow(), f)
    yield lambda: getattr(Slow(), "n")
    yield lambda: setattr(f, Name("__code__"), None)
    yield lambda: isinstance(Slow(), type(secret))

for one in tries():
    found = None
    try:
        found = one()
    except BaseException:
        pass
    take(found)
    try:
        take(getattr(f, Name("__globals__")))
    except BaseException:
        pass
    try:
        take(getattr(secret, "_hidden"))
    except BaseException:
        pass
