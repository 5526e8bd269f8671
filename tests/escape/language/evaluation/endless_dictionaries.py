"""Evaluate with more dictionaries than are remembered, and use the functions of the first ones."""

# stopped: raises AttributeError
# because: has no private attributes

kept = []
for number in range(500):
    given = {"number": number, "secret": secret}
    exec("def f():\n    return number, secret", given)
    kept.append(given)
for number, given in enumerate(kept):
    given["number"] = -number
    if given["f"]()[0] != -number:
        escaped()
    exec("secret = None", given)
exec("def f():\n    return secret._hidden", {"secret": secret}, kept[0])
kept[0]["f"]()
given = {"secret": secret}
exec("def f():\n    return secret._hidden", given)
given["f"]()
