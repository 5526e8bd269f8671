"""Define a hook outside of a class, where no guard is put around it."""

# stopped: refused
# because: reaches into the interpreter

def decorate(cls):
    def __getattr__(self, name):
        escaped()
    return cls
