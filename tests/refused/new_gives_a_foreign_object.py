# what: a `__new__` that returns an object of a library
# why: a copy would write its state, including private names, into that object
# raises: TypeError: `__new__` of `C` cannot give a `Random`
import random


class C:
    def __new__(cls):
        return random.Random()


C()
