# private function attribute
def f(): pass
f._calls = 1
f._calls += 1
result = f._calls
assert result == 2
