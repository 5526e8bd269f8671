# uses of `type(x)`
assert type(3) is int
assert type("a") in (int, str)
assert type([]) == list
assert type(type(3)) is type
assert type(lambda: 0).__name__ == "function"
assert isinstance(int, type)


class C: ...


assert type(C()) is C
assert type(C) is type
