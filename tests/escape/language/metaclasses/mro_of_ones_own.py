"""Define the ancestry of a class."""

# stopped: harmless

class C:
    def mro(cls): return [type(secret)]
class D(C): pass
C.mro is D.mro and take(C.mro())
