"""Change the list of strings while it is joined."""

# stopped: harmless

class C:
    def __iter__(self):
        items.clear()
        return iter(["a"])
items = ["a"] * 100
"".join(C()) == "b"
