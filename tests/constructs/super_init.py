# super init
class A:
    def __init__(self, n): self.n = n
class B(A):
    def __init__(self): super().__init__(3)
result = B().n
assert result == 3
