"""Pass variables under keywords that are not what they say."""

# stopped: raises TypeError
# because: unexpected keyword argument

class Word(str):
    def __eq__(self, other): return True
    def __hash__(self): return hash("globals")

given = {"__builtins__": {"<own>": lambda value, name: value}, "secret": secret}
try:
    take(eval("secret._hidden", **{Word("closure"): given}))
    escaped()
except AttributeError:
    pass
exec("x = 1", closure=())
escaped()
