# `__iter__` and `__next__`
class Countdown:
    def __init__(self, n):
        self._n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self._n <= 0:
            raise StopIteration
        self._n -= 1
        return self._n


assert list(Countdown(3)) == [2, 1, 0]
