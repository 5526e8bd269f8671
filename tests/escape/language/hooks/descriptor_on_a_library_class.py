"""Get a library's object, and read its private attribute there."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class Descriptor:
    def __get__(self, instance, owner): return instance._hidden

type(secret).shown = Descriptor()
take(secret.shown)
escaped()
