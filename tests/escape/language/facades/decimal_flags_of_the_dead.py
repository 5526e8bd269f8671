"""Write to the memory of a freed decimal context through its flags."""

# stopped: harmless

import decimal
flags = [decimal.Context(traps=[], flags=[]).flags for _ in range(10)]
memory = [bytes([255]) * 63 for _ in range(100)]
for each in flags:
    each[decimal.Inexact] = False
if any(set(each) != {255} for each in memory):
    escaped()
