# augmented attribute
class C: n = 1
c = C()
c.n += 1
result = c.n
assert result == 2
