"""The standard library through its facades: json, re, collections, math, functools."""

import functools
import json
import math
import re
from collections import Counter


@functools.cache
def ways(n):
    return 1 if n < 2 else ways(n - 1) + ways(n - 2)


def main():
    rows = [
        {"name": f"user{n}", "mail": f"user{n}@host{n % 17}.example", "n": n} for n in range(1500)
    ]
    text = json.dumps(rows)
    back = json.loads(text)
    hosts = Counter(re.search(r"@(\w+)\.", row["mail"]).group(1) for row in back)
    numbers = [int(found) for found in re.findall(r'"n": (\d+)', text)]
    length = sum(math.sqrt(n) * math.sin(n) for n in numbers for _ in range(10))
    ways.cache_clear()
    return hosts.most_common(1)[0][1], sum(numbers), round(length, 6), ways(200)
