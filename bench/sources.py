"""The programs of the start rows: the same source for every contender, and ten new lines."""

from __future__ import annotations

import itertools

TINY = "x = 2\ny = 3\nx * y"
TINY_RESULT = 6

# Ordinary code of an agent. Only the number differs, and so every cache key differs.
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
    """Ten lines that are not in any cache of this run."""
    return _TEN_LINES.format(number=next(_numbers))


# Fifty lines of the kind that agents write: records, a class, comprehensions, strings.
FIFTY_LINES = """\
import json
import math
from collections import Counter

ROWS = [
    {"name": f"user{n}", "city": ["Bern", "Oslo", "Lima"][n % 3], "spent": (n * 37) % 211}
    for n in range(40)
]


class Account:
    def __init__(self, name, city):
        self.name = name
        self.city = city
        self.items = []

    def add(self, amount):
        if amount < 0:
            raise ValueError(f"{amount} is negative")
        self.items.append(amount)
        return self

    @property
    def total(self):
        return sum(self.items)


def load(rows):
    accounts = {}
    for row in rows:
        key = (row["name"], row["city"])
        account = accounts.setdefault(key, Account(*key))
        account.add(row["spent"])
    return list(accounts.values())


def spread(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


accounts = load(ROWS)
totals = Counter()
for account in accounts:
    totals.update({account.city: account.total})
best = max(accounts, key=lambda account: account.total)
report = {
    "cities": dict(sorted(totals.items())),
    "best": best.name,
    "spread": round(spread([account.total for account in accounts]), 3),
}
json.dumps(report)
"""
