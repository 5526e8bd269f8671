# `metaclass=ABCMeta`
from abc import ABCMeta, abstractmethod


class Shape(metaclass=ABCMeta):
    @abstractmethod
    def area(self): ...


try:
    Shape()
    made = True
except TypeError:
    made = False
assert not made
