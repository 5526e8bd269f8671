"""Make an own object's attribute the library's by an alias."""

# stopped: raises AttributeError
# because: has no private attributes

class Mine:
    def __init__(self): self.other = secret
Mine().other._hidden
escaped()
