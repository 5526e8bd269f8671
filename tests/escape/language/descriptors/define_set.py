"""Get a library's object when its attribute is written."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class D:
    def __set__(self, instance, value): take(instance._hidden)
type(secret).written = D()
secret.written = 1
escaped()
