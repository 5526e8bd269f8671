"""Find the class of a method, or the first iterator of a comprehension, among its variables."""

# stopped: harmless

class C:
    def read(self):
        super()
        return [*locals(), *[name for _ in "a" for name in locals()]]
[name for name in C().read() if name.startswith(("__", "."))]
