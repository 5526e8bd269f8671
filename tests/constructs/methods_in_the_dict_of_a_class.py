# special methods in `C.__dict__`
from dataclasses import dataclass


class Base:
    def __eq__(self, other):
        return True


@dataclass(order=True)
class Version:
    major: int


assert "__eq__" in Base.__dict__ and "__lt__" not in vars(Base)
assert Base.__dict__["__hash__"] is None
assert "__lt__" in vars(Version)
assert vars(Version)["__eq__"] is Version.__eq__
