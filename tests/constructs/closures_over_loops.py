# closures over loops
def make():
    x = [1]
    return lambda: x
result = make()() is not make()()
assert result is True
