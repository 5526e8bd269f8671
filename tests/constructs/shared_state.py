# objects that share their `__dict__`
class Borg:
    _shared = {"level": 1}

    def __init__(self):
        self.__dict__ = self._shared


first, second = Borg(), Borg()
first.name = "x"
assert second.name == "x" and second.level == 1 and first is not second
assert first.__dict__ == second.__dict__ == {"level": 1, "name": "x"}
