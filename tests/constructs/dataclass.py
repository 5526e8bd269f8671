# dataclass
from dataclasses import dataclass, field, asdict, astuple, replace, fields
@dataclass(order=True)
class P:
    x: int
    y: int = 2
    tags: list = field(default_factory=list, repr=False)
    _hidden: int = 0
    def __post_init__(self):
        self.x += 1
p = P(1)
result = (
    repr(p),
    asdict(p),
    astuple(replace(p, y=5)),
    p < P(9),
    [f.name for f in fields(P)],
    p._hidden,
)
assert result == ('P(x=2, y=2, _hidden=0)', {'x': 2, 'y': 2, 'tags': [], '_hidden': 0}, (3, 5, [], 0), True, ['x', 'y', 'tags', '_hidden'], 0)
