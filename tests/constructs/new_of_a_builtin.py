# `__new__` of a subclass of `str` and of `tuple`
class Upper(str):
    def __new__(cls, text):
        return super().__new__(cls, text.upper())


class Pair(tuple):
    def __new__(cls, a, b):
        return tuple.__new__(cls, (a, b))


assert Upper("ab") == "AB"
assert Pair(1, 2) == (1, 2)
