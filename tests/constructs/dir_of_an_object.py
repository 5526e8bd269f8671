# `dir` of an object of the code's own class
class Thing:
    def method(self): ...


thing = Thing()
thing.x = 1
assert {"method", "x"} <= set(dir(thing))
