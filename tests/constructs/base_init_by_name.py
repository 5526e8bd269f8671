# base init by name
class A:
    def __init__(self, n): self.n = n
class B(A):
    def __init__(self): A.__init__(self, 4)
result = B().n
assert result == 4
