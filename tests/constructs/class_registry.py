# private state of a class
class Plugin:
    _by_name = {}

    @classmethod
    def add(cls, name):
        cls._by_name[name] = cls
        return cls

    @staticmethod
    def names():
        return sorted(Plugin._by_name)


Plugin.add("a")
assert Plugin.names() == ["a"]
