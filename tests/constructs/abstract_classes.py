# abstract classes
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
class Square(Shape):
    def area(self): return 4
try:
    Shape()
except TypeError as e:
    r = "abstract" in str(e)
result = (r, Square().area(), isinstance(Square(), Shape))
assert result == (True, 4, True)
