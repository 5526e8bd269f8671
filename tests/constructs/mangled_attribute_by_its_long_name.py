# mangled attribute by its long name
class C:
    def __init__(self): self.__n = 4
result = C()._C__n
assert result == 4
