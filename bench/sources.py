"""The programs that are started: the same text for everybody, and ten lines that nobody saw before.
"""

from __future__ import annotations

import itertools

TINY = "x = 2\ny = 3\nx * y"
TINY_RESULT = 6

# Ordinary code of an agent. Only the number differs, and with it every key of every cache.
_TEN_LINES = """\
seed = {number}
rows = [{{"id": n, "score": (n * 37 + seed) % 101}} for n in range(10)]
best = {{}}
for row in rows:
    if row["score"] > 50:
        best[row["id"]] = row["score"]
def mean(values):
    return sum(values) / len(values) if values else 0
names = [f"row {{key}}: {{value}}" for key, value in sorted(best.items())]
len(names) + mean(list(best.values())) - seed
"""
_numbers = itertools.count(1_000_000)


def new_code() -> str:
    """Ten lines that no cache of this run has met."""
    return _TEN_LINES.format(number=next(_numbers))
