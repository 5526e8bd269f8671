"""The same by the traps, read by name."""

# stopped: harmless

import decimal
from operator import attrgetter
traps = [attrgetter("traps")(decimal.Context(traps=[])) for _ in range(5)]
traps += [getattr(decimal.Context(traps=[]), "traps") for _ in range(5)]
memory = [bytes([255]) * 63 for _ in range(100)]
for each in traps:
    each[decimal.Inexact] = False
if any(set(each) != {255} for each in memory):
    escaped()
