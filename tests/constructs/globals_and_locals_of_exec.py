# `exec` with global and local variables
outer, inner = {"step": 2}, {"count": 1}
exec(
    """
global total
total = count + step
count = total * 2
""",
    outer,
    inner,
)
assert outer["total"] == 3
assert inner["count"] == 6
assert "total" not in inner and "count" not in outer
