# a method that rebinds `self`
class Node:
    def __init__(self, value, following=None):
        self._value = value
        self._following = following

    def last(self):
        while self._following:
            self = self._following
        return self._value


assert Node(1, Node(2)).last() == 2
