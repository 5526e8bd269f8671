# a decorator class that works on methods
class memoized:
    def __init__(self, function):
        self.function = function
        self.cache = {}

    def __call__(self, *args):
        if args not in self.cache:
            self.cache[args] = self.function(*args)
        return self.cache[args]

    def __get__(self, instance, owner=None):
        return lambda *args: self(instance, *args)


class Calculator:
    @memoized
    def square(self, n):
        return n * n


calculator = Calculator()
assert (calculator.square(3), calculator.square(3)) == (9, 9)
