# exception subclass
class Wrong(ValueError):
    def __init__(self, place):
        super().__init__(f"wrong at {place}")
        self.place = place
        self._seen = 1
try:
    raise Wrong(3)
except Wrong as e:
    r = (str(e), e.place, e._seen, e.args)
result = r
assert result == ('wrong at 3', 3, 1, ('wrong at 3',))
