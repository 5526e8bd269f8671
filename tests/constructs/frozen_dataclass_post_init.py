# `__post_init__` of a frozen dataclass
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Square:
    side: int
    area: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "area", self.side**2)


assert Square(3).area == 9
