# package: pydantic
# modules: pydantic
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from typing import Optional, Literal, Annotated
import datetime

# %% a model, derived from BaseModel, with annotations
class Address(BaseModel):
    street: str
    city: str = "Rome"

class User(BaseModel):
    """A user."""
    id: int
    name: str = Field(min_length=1, max_length=20)
    tags: list[str] = []
    address: Optional[Address] = None
    joined: datetime.date | None = None

u = User(id="3", name="Ada", address={"street": "Via"}, joined="2024-01-05")
assert u.id == 3 and u.address.city == "Rome" and u.joined.year == 2024
print(u)
repr(u)
# %% model_dump, model_dump_json, model_validate
assert u.model_dump()["address"] == {"street": "Via", "city": "Rome"}
assert '"id":3' in u.model_dump_json()
assert User.model_validate_json('{"id": 1, "name": "x"}').name == "x"
assert User.model_validate(u.model_dump()) == u
assert u.model_copy(update={"id": 4}).id == 4
# %% errors
try:
    User(id="x", name="")
except ValidationError as e:
    assert e.error_count() == 2
    assert [p["type"] for p in e.errors()] == ["int_parsing", "string_too_short"]
    print(e)
# %% validators
class Order(BaseModel):
    n: int
    total: float

    @field_validator("n")
    @classmethod
    def positive(cls, v):
        if v <= 0:
            raise ValueError("must be positive")
        return v

    @model_validator(mode="after")
    def check(self):
        assert self.total >= 0
        return self

    @property
    def each(self):
        return self.total / self.n

assert Order(n=2, total=5).each == 2.5
try:
    Order(n=-1, total=1)
    raise AssertionError
except ValidationError as e:
    assert "must be positive" in str(e)
# %% computed fields, config, aliases, private attributes
from pydantic import ConfigDict, computed_field, PrivateAttr

class Box(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
    width: int = Field(alias="w")
    kind: Literal["a", "b"] = "a"

    @computed_field
    @property
    def area(self) -> int:
        return self.width ** 2

assert Box(w=3).area == 9 and Box(width=3).model_dump(by_alias=True)["w"] == 3
# %% json schema
assert User.model_json_schema()["properties"]["name"]["maxLength"] == 20
# %% inheritance, generics
class Admin(User):
    level: int = 1

assert Admin(id=1, name="x").level == 1
from typing import Generic, TypeVar
T = TypeVar("T")
class Page(BaseModel, Generic[T]):
    items: list[T]
assert Page[int](items=["1"]).items == [1]
# %% TypeAdapter, dataclasses
from pydantic import TypeAdapter
assert TypeAdapter(list[int]).validate_python(["1", 2]) == [1, 2]
from pydantic.dataclasses import dataclass as pd_dataclass
@pd_dataclass
class P:
    x: int
assert P(x="2").x == 2
# %% enums, unions, discriminators
import enum
class Colour(enum.Enum):
    RED = "red"
class C(BaseModel):
    colour: Colour
    v: int | str
assert C(colour="red", v="x").colour is Colour.RED
class Cat(BaseModel):
    t: Literal["cat"]
class Dog(BaseModel):
    t: Literal["dog"]
class Pet(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="t")]
assert type(Pet(pet={"t": "dog"}).pet) is Dog
# %% a private attribute
class Counter(BaseModel):
    _n: int = PrivateAttr(default=0)
    def up(self):
        self._n += 1
        return self._n
assert Counter().up() == 1
# %% recursive models
class Node(BaseModel):
    value: int
    children: list["Node"] = []
assert Node(value=1, children=[{"value": 2}]).children[0].value == 2
# %% create_model, email-free types
from pydantic import create_model, HttpUrl, PositiveInt, UUID4
M = create_model("M", a=(int, ...))
assert M(a=1).a == 1
assert TypeAdapter(HttpUrl).validate_python("https://example.org/").host == "example.org"
