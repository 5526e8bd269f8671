"""Put guards into the dictionary that functions of a text share, before and after it ran."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

def open_guard(*_arguments): return secret

names = ("<own>", "<read>", "<sync>", "<scope>", "<write>", "__builtins__", "__import__")
given = {"secret": secret, "read": 1, **dict.fromkeys(names, open_guard)}
exec("def look():\n    global read\n    read = secret._hidden\n    return globals()", given)
given.update(dict.fromkeys(names, open_guard))
given["__builtins__"] = dict.fromkeys(names, open_guard)
for name in names:
    given[name] = open_guard
try:
    take(given["look"]())
finally:
    take(given["read"])
escaped()
