# `__class_getitem__`
class Typed:
    def __class_getitem__(cls, item):
        return (cls.__name__, item)


assert Typed[int] == ("Typed", int)
