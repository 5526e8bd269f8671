# `functools.update_wrapper` on an object that decorates
import functools


class Counted:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


@Counted
def greet(name):
    "Say hello."
    return f"hello {name}"


assert (greet("you"), greet.calls) == ("hello you", 1)
assert (greet.__name__, greet.__doc__) == ("greet", "Say hello.")
