# super of a private method
class A:
    def _n(self): return 1
class B(A):
    def _n(self): return super()._n() + 1
result = B()._n()
assert result == 2
