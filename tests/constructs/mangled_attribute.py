# mangled attribute
class C:
    def __init__(self):
        self.__n = 4
    def get(self):
        return self.__n
result = C().get()
assert result == 4
