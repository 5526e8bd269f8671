# `functools.wraps` copies annotations, and only what it is told to
import functools


def traced(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


@traced
def double(x: int) -> int:
    """Twice."""
    return 2 * x


assert double.__annotations__ == {"x": int, "return": int}
assert (double.__name__, double.__doc__) == ("double", "Twice.")


@functools.wraps(double, assigned=("__doc__",), updated=())
def other(): ...


assert (other.__name__, other.__doc__) == ("other", "Twice.")
