"""Delete a library's private attribute."""

# stopped: raises AttributeError
# because: a `Secret` is not yours to change this way

object.__delattr__(secret, "_hidden")
escaped()
