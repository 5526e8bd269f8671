"""Write the builtins of the program by `dict.__setitem__`, past the check of `globals()`."""

# stopped: harmless

variables = globals()
dict.__setitem__(variables, "__builtins__", {"len": lambda value: escaped()})
dict.update(variables, {"<own>": lambda value, name: value})
exec("len('a')", variables)
eval("len('a')", variables)
try:
    secret._hidden
    escaped()
except AttributeError:
    pass
len("a") != 1
