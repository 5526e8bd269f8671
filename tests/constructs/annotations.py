# annotations
x: int = 1
def f(a: list[int]) -> dict[str, int]: return {'a': a[0]}
result = f([x])
assert result == {'a': 1}
