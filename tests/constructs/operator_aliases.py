# one operator method assigned as another
class Value:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Value(self.x + other)

    __radd__ = __add__

    def __str__(self):
        return f"<{self.x}>"

    __repr__ = __str__


assert repr(1 + Value(2)) == "<3>"
