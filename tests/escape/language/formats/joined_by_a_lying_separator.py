"""Get the strings that are joined, through the separator."""

# stopped: harmless

class Text(str):
    def join(self, parts): take(parts); return "x"
print(1, 2, sep=Text(","), end=Text(""))
