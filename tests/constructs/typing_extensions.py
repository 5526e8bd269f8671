# `typing_extensions`
from typing_extensions import Annotated, NotRequired, Self, TypedDict, TypeIs, deprecated, override


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Base:
    def copy(self) -> Self:
        return self


class Derived(Base):
    @override
    def copy(self) -> Self:
        return super().copy()


@deprecated("use copy", category=None)
def old(value: Annotated[int, "count"]) -> TypeIs[int]:
    return value


assert Movie(title="x") == {"title": "x"} and type(Derived().copy()) is Derived and old(3) == 3
