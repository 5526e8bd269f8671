"""Keep a function out of an annotation that the library evaluates in an environment of its own."""

# stopped: raises NameError or raises ZeroDivisionError or harmless

from dataclasses import dataclass, fields
kept = []
@dataclass
class C:
    x: (lambda value: (open, type, value._hidden, value.__class__))
    y: Missing
    z: 1 / 0
    w: kept.append(Missing)
f = fields(C)[0].type
take(list(f(secret)))
if f(secret)[2] == "loot":
    escaped()
for one in kept:
    take([one, one.anything, one("x"), type(one)])
None
