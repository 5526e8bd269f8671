# copies of objects with slots, and of methods
import copy

class Point:
    __slots__ = ["x", "__y"]

    def __init__(self, x, y):
        self.x, self.__y = x, y

    def sum(self):
        return self.x + self.__y

class Named(Point):
    __slots__ = {"name": "what it is called"}

point = Named(1, 2)
point.name = ["a"]
again = copy.deepcopy(point)
assert again.sum() == 3 and again.name == ["a"] and again.name is not point.name
assert copy.copy(point.sum)() == 3 and copy.deepcopy(point.sum)() == 3
assert copy.deepcopy({"function": getattr})["function"] is getattr
