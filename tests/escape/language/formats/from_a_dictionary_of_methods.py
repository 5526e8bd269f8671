"""Find the real `format` among the methods of a string by `vars`."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `type` does not show its `__dict__`

take(vars(str)["format"])
