"""Write a library's private attribute by `object.__setattr__`."""

# stopped: raises AttributeError
# because: a `Secret` is not yours to change this way

object.__setattr__(secret, "_hidden", "mine")
escaped()
