# global
n = 0
def f():
    global n
    n += 1
f()
f()
result = n
assert result == 2
