# a method that is called `format`
class Report:
    def format(self, n): return n + 1
result = Report().format(1)
assert result == 2
