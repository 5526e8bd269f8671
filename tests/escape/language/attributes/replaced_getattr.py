"""Replace `getattr` for the guards, too."""

# stopped: raises AttributeError
# because: has no private attributes

def getattr(value, name): escaped()
def hasattr(value, name): escaped()
def type(value): escaped()
secret._hidden
escaped()
