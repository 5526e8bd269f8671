# with
class C:
    def __enter__(self): return (1, 2)
    def __exit__(self, kind, error, trace): return kind is ValueError
with C() as (a, b), C():
    raise ValueError
result = a + b
assert result == 3
