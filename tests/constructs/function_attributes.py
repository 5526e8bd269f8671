# attributes of a function
def counted():
    counted.calls += 1


counted.calls = 0
counted()
counted()
assert counted.calls == 2
assert counted.__dict__ == {"calls": 2}
