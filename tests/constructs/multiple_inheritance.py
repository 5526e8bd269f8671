# multiple inheritance
class A:
    def f(self): return ["A"]
class B(A):
    def f(self): return ["B", *super().f()]
class C(A):
    def f(self): return ["C", *super().f()]
class D(B, C): pass
result = D().f()
assert result == ['B', 'C', 'A']
