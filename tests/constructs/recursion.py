# recursion
def f(n): return 1 if n < 2 else n * f(n - 1)
result = f(20)
assert result == 2432902008176640000
