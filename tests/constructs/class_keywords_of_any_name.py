# class keywords that are called `name`, `self` or `body`
class Plugin:
    registry = {}
    def __init_subclass__(cls, /, name=None, **rest):
        cls.registry[name] = (cls, rest)
class Csv(Plugin, name="csv", self=1, body=2, cls=3): pass
assert Plugin.registry == {"csv": (Csv, {"self": 1, "body": 2, "cls": 3})}
