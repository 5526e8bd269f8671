# `exec` in a function does not change variables outside
total = 5


def calculate():
    total = 1
    exec("total = 99\nleak = 1")
    return total


assert (calculate(), total, "leak" in globals()) == (1, 5, False)
