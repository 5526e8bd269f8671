"""Skip a method of a library's class by a `super` that is made by hand."""

# stopped: refused
# because: reaches into the interpreter

take(super(type(secret), secret).__self__)
