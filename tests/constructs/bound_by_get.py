# a function bound by its `__get__`
class Host:
    name = "host"


def describe(self):
    return self.name


bound = describe.__get__(Host())
assert bound() == "host"
