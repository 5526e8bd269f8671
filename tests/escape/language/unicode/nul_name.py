"""Give `getattr` a name that ends before its end."""

# stopped: raises AttributeError
# because: has no private attributes

getattr(secret, "_hidden\0x")
escaped()
