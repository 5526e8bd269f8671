"""Give `getattr` a name that no encoding knows."""

# stopped: raises AttributeError
# because: 'Secret' object has no attribute

getattr(secret, "\ud800")
escaped()
