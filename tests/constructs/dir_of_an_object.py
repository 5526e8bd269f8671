# `dir` of an object of the user's
class Thing:
    def method(self): ...


thing = Thing()
thing.x = 1
assert {"method", "x"} <= set(dir(thing))
