"""Call a function of one text with the variables of another one, and of the program."""

# stopped: raises NameError
# because: name 'open' is not defined

one, other = {}, {"open": 1}
exec("def f():\n    global x\n    x = 1\n    return globals()", one)
other["f"] = one["f"]
exec("found = f()", other)
take(list(other["found"].values()))
exec("y = 2\nclass C:\n    z = globals()", globals=globals(), locals=one)
take(list(one["C"].z.values()))
one.clear()
other["f"]()
exec("open('/etc/passwd')", one)
