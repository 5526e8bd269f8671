"""Find what keeps the variables of a text in line, among the variables and by what it calls."""

# stopped: harmless

given = {"take": take}
exec("x = 1\ndef f():\n    global x\n    x = list(globals().values()), list(vars().values()), dir()\n    return globals()", given)
found = given["f"]()
take(list(found.values()))
take(list(given.values()))
take([one for part in given["x"] for one in part])
for name in ("<scope>", "<sync>"):
    if name in found or name in given or name in dir() or found.get(name) or eval("globals()", given).get(name):
        escaped()
    take(eval("vars().get(name)", {"name": name}))
None
