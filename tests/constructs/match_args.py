# `__match_args__` for patterns by position
class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


match Point(1, 2):
    case Point(a, b):
        seen = (a, b)
assert seen == (1, 2)
