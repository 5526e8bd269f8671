# what: a subclass of `property` with an `__init__`
# why: a property does not keep its function alive while it calls it
# raises: TypeError: `Mine` is a property: it cannot define `__init__`
class Mine(property):
    def __init__(self, function):
        super().__init__(function)
