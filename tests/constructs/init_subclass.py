# `__init_subclass__` with a keyword
class Registered:
    by_tag = {}

    def __init_subclass__(cls, tag=None, **keywords):
        super().__init_subclass__(**keywords)
        Registered.by_tag[tag] = cls


class Circle(Registered, tag="circle"):
    pass


assert Registered.by_tag == {"circle": Circle}
