"""Update an object's dictionary from a mapping that changes its answers."""

# stopped: harmless

class Lying(dict):
    asked = 0
    def keys(self):
        Lying.asked += 1
        return ["a"] if Lying.asked == 1 else ["__deepcopy__"]
    def __getitem__(self, key): return 1

class C: pass
c = C()
c.__dict__.update(Lying(a=1))
hasattr(c, "__deepcopy__")
