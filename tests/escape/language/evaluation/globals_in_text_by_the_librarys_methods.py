"""Change what evaluated code sees by the methods that `dict` itself has."""

# stopped: harmless

scope = {}
exec("def show():\n    return globals()\ndef load():\n    import math\n    return math.pi", scope)
found = scope["show"]()
dict.__setitem__(found, "__builtins__", {"__import__": escaped})
dict.update(found, {"__import__": escaped, "<own>": escaped})
dict.setdefault(found, "__build_class__", escaped)
scope["load"]()
dict.clear(found)
exec("class C:\n    def __init__(self):\n        self._a = 1\nC()._a", found)
None
