# `__copy__`
import copy


class Bag:
    def __init__(self, items):
        self.items = items

    def __copy__(self):
        return Bag(list(self.items))


bag = Bag([1])
other = copy.copy(bag)
other.items.append(2)
assert bag.items == [1]
