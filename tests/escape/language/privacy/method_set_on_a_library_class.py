"""Put a method of its own class into a library's."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self): return self._hidden

type(secret).read = C.read
secret.read()
escaped()
