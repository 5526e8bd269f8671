"""Delete a library's private attribute."""

# stopped: raises AttributeError
# because: attributes of `Secret` cannot be changed from sandboxed code

object.__delattr__(secret, "_hidden")
escaped()
