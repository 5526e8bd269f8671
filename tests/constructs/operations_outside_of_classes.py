# operations that are defined outside of a class, for a decorator to add
def counted(cls):
    def __len__(self):
        return len(self.items)

    def __repr__(self):
        """What it shows."""
        return f"{type(self).__name__}({len(self)})"

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None
    cls.__len__, cls.__repr__ = __len__, __repr__
    cls.__eq__, cls.__hash__ = __eq__, __hash__
    return cls


@counted
class Box:
    items = [1, 2]


assert len(Box()) == 2
assert repr(Box()) == "Box(2)"
assert Box() == Box()


def __add__(one, other):
    return [one, other]


class Pair:
    plus = __add__


assert Pair().plus(1)[1] == 1
