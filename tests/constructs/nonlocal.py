# nonlocal
def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
step = counter()
step()
result = step()
assert result == 2
