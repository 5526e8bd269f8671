"""Reach names of the runtime through the local variables of a program that returns."""

# stopped: harmless

take(locals())
take(eval("locals()"))
exec("take(locals())")
take([locals() for _ in range(1)])
return None
