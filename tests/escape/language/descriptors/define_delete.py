"""Get a library's object when its attribute is deleted."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class D:
    def __delete__(self, instance): take(instance._hidden)
type(secret).deleted = D()
del secret.deleted
escaped()
