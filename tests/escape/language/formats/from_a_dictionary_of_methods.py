"""Find the real `format` among the methods of a text by `vars`."""

# stopped: raises AttributeError
# because: a `type` does not show its `__dict__`

take(vars(str)["format"])
