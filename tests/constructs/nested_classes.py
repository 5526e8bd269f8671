# a class in a class, and a class in a function
class Tree:
    class Node:
        def __init__(self, value):
            self._value = value

    def __init__(self):
        self._root = Tree.Node(1)

    def value(self):
        return self._root._value


def make(base):
    class Derived(base):
        def value(self):
            return super().value() + 1

    return Derived


assert make(Tree)().value() == 2
