# decorators
import functools
def twice(n):
    def mark(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return n * f(*args, **kwargs)
        return inner
    return mark
@twice(3)
def one(a, *, b=1):
    "says one"
    return a + b
result = (one(1), one.__name__, one.__doc__)
assert result == (6, 'one', 'says one')
