"""Have `asdict` write the state of one object into another, by a `__new__` that gives that one."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `Secret`

from dataclasses import asdict, dataclass

class Mine:
    def __new__(cls):
        return secret if ready else super().__new__(cls)

ready = False
mine = Mine()
mine._hidden = "mine"
ready = True

@dataclass
class C:
    a: object

asdict(C(mine))
escaped()
