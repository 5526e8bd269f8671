# type annotation of type
def f(kind: type[int]) -> type[str]: return kind
result = f(int) is int
assert result is True
