"""Get the real `str.format` as a field that a `str` subclass inherits."""

# stopped: raises TypeError
# because: `format` cannot be a field

from dataclasses import dataclass, asdict
@dataclass
class A:
    format: object
class Text(A, str):
    def __init__(self): pass
take(asdict(Text())["format"])
