"""Have a hook be a class."""

# stopped: raises TypeError
# because: Secret.__init__() takes 1 positional argument but 3 were given

def instead(function): return type(secret)
class C:
    @instead
    def __getattr__(self, name): pass
C().x
