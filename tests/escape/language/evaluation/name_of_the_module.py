"""Give a class another module than the program's, so that it counts as a library's."""

# stopped: harmless

exec("class C: pass", {"__name__": "typing"})
given = {"__name__": "typing"}
exec("class C(Generic): pass", {"__name__": "typing", "Generic": object})
None
