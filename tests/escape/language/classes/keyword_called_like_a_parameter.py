"""Pass keywords to a class statement that are called like the parameters of what makes the class."""

# stopped: raises TypeError
# because: a class cannot choose its metaclass

class Base:
    def __init_subclass__(cls, /, **keywords):
        if sorted(keywords) != ["bases", "body", "cls", "keywords", "name", "self"]:
            escaped()

class C(Base, self=1, body=2, name="n", bases=(), keywords={}, cls=3): pass
class D(Base, name="metaclass", metaclass=C): pass
