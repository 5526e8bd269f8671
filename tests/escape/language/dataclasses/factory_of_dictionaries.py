"""Get the insides of `asdict` by the factory of dictionaries."""

# stopped: harmless

from dataclasses import asdict, dataclass

@dataclass
class C:
    a: object

def factory(pairs):
    take(pairs)
    for pair in pairs:
        take(pair)
    return dict(pairs)

asdict(C([secret]), dict_factory=factory)
list(asdict(C(1), dict_factory=factory)) == ["b"]
