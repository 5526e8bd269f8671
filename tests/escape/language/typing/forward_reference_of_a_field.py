"""Evaluate the annotation of a field that names a class which does not exist."""

# stopped: raises NameError or raises TypeError
# because: name 'Missing' is not defined
# because: a forward reference is not evaluated in the sandbox

from dataclasses import dataclass, fields
@dataclass
class C:
    x: Missing | open
take(fields(C)[0].type.evaluate(globals={}))
