"""Read a private attribute of the library's by `getattr`."""

# stopped: raises AttributeError
# because: has no private attributes

getattr(secret, '_hidden')
escaped()
