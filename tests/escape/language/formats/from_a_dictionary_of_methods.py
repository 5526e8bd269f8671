"""Find the real `format` among the methods of a string by `vars`."""

# stopped: raises KeyError
# because: format

take(vars(str)["format"])
