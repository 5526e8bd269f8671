# private attribute
class C:
    def __init__(self):
        self._n = 1
    def up(self):
        self._n += 1
c = C()
c.up()
result = c._n
assert result == 2
