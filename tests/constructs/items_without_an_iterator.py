# iteration over a class that has only `__getitem__`
class Squares:
    def __getitem__(self, number):
        if number > 3:
            raise IndexError
        return number * number


class Property(property):
    def __get__(self, instance, owner=None):
        return self.fget(owner)


class Owner:
    name = Property(lambda cls: cls.__name__)


squares = Squares()
assert list(squares) == [0, 1, 4, 9]
assert 4 in squares and 5 not in squares
first, *rest = squares
assert rest == [1, 4, 9]
assert Owner.name == "Owner"
assert list(iter(iter([1, 2, 3]).__next__, 3)) == [1, 2]
