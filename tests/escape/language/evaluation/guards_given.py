"""Pass variables that are named like the guards."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C: pass
given = {"<own>": lambda value, name: value, "<kind>": lambda value: C, "<clean>": {C}, "secret": secret}
eval("secret._hidden", given)
escaped()
