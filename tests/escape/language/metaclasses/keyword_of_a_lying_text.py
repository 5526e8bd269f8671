"""Name a metaclass by a keyword that is `metaclass` for the interpreter only."""

# stopped: raises TypeError
# because: keywords must be strings

def attempt(limit):
    class Name(str):
        asked = 0
        def __eq__(self, other): return other == "metaclass"
        def __hash__(self):
            Name.asked += 1
            return hash("metaclass") if Name.asked > limit else 5

    class C(**{Name("x"): lambda *args, **keywords: type(secret)}): pass
    secret._hidden
    escaped()

for limit in range(3, 0, -1):
    attempt(limit)
