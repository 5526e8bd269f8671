"""Write by the method of such a dictionary into an object of a library's."""

# stopped: raises AttributeError
# because: 'Secret' object has no attribute '_check'

class C: pass
type(C().__dict__).__setitem__(secret, "_hidden", "mine")
escaped()
