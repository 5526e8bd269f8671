"""Find the real `format` among the methods of a text by `vars`."""

# stopped: raises AttributeError
# because: has no private attributes

take(vars(str)["format"])
