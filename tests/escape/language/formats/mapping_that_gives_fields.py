"""Have a mapping give a template for the specification."""

# stopped: raises ValueError
# because: Invalid format specifier '{0.__class__}' for object of type 'str'

class Lying(dict):
    def __missing__(self, key): return "{0.__class__}"
template = "{a:{b}}" + ""
take(template.format_map(Lying()))
