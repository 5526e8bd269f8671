# a decorator that copies name and docstring itself
def traced(function):
    def wrapper(*args):
        return function(*args)

    wrapper.__name__ = function.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper


@traced
def greet(name):
    "Say hello."
    return f"hello {name}"


assert (greet("you"), greet.__name__, greet.__doc__) == ("hello you", "greet", "Say hello.")
