# private attributes of another object of the class
class Money:
    def __init__(self, amount):
        self._amount = amount

    def __eq__(self, other):
        return isinstance(other, Money) and self._amount == other._amount

    def __lt__(self, other):
        return self._amount < other._amount

    def __hash__(self):
        return hash(self._amount)


assert Money(1) == Money(1)
assert Money(1) < Money(2)
assert len({Money(1), Money(1)}) == 1
assert Money(1) != 1
