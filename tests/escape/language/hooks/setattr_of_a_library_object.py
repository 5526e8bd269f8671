"""Write a library's private attribute by `object.__setattr__`."""

# stopped: raises AttributeError
# because: attributes of `Secret` cannot be changed from sandboxed code

object.__setattr__(secret, "_hidden", "mine")
escaped()
