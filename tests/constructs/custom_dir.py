# `__dir__`
class Listed:
    def __dir__(self):
        return ["b", "a"]


assert dir(Listed()) == ["a", "b"]
