"""Read the object of an error of its own kind."""

# stopped: harmless

class E(AttributeError): pass
take(E(name="x", obj=1).obj)
take(getattr(E(obj=int), "obj"))
