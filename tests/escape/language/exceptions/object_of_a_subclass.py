"""Read the object of an error of one's own kind."""

# stopped: harmless

class E(AttributeError): pass
take(E(name="x", obj=1).obj)
take(getattr(E(obj=int), "obj"))
