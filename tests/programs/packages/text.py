# modules: pydantic yaml bs4 lxml dateutil jinja2
# %% models with validators
from datetime import date
from enum import Enum
from typing import Literal, Optional

from pydantic import BaseModel, ConfigDict, Field, ValidationError, computed_field, field_validator, model_validator


class Kind(str, Enum):
    book = "book"
    film = "film"


class Price(BaseModel):
    amount: float = Field(gt=0)
    currency: Literal["EUR", "USD"] = "EUR"


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    name: str = Field(min_length=2)
    kind: Kind
    price: Price
    released: Optional[date] = None
    tags: list[str] = []

    @field_validator("tags")
    @classmethod
    def lower(cls, tags):
        return [tag.lower() for tag in tags]

    @model_validator(mode="after")
    def check(self):
        if self.kind is Kind.film and self.released is None:
            raise ValueError("a film has a date")
        return self

    @computed_field
    @property
    def label(self) -> str:
        return f"{self.name} ({self.kind.value})"


item = Item(name=" Dune ", kind="book", price={"amount": "9.5"}, released="1965-08-01", tags=["SF"])
print(item)
print(item.model_dump())
print(item.model_dump_json(indent=1, exclude={"price"}))
print(Item.model_validate_json('{"name": "Up", "kind": "film", "price": {"amount": 3}, "released": "2009-05-29"}').label)
for bad in ({}, {"name": "x", "kind": "cd", "price": {"amount": -1, "currency": "GBP"}, "more": 1}, {"name": "Up", "kind": "film", "price": {"amount": 1}}):
    try:
        Item(**bad)
    except ValidationError as error:
        print(error.error_count(), [(e["loc"], e["type"], e["msg"]) for e in error.errors()])
        print(error)
print(item.model_copy(update={"name": "D"}) == item, sorted(Item.model_json_schema()["properties"]))
# %% generics, adapters and settings
from typing import Annotated, Generic, TypeVar, Union
from pydantic import AfterValidator, BaseModel, Field, PositiveInt, TypeAdapter

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: PositiveInt


print(Page[int](items=["1", 2], total=2), Page[int].__name__)
Even = Annotated[int, AfterValidator(lambda n: n if n % 2 == 0 else 1 / 0)]
print(TypeAdapter(list[Even]).validate_python(["2", 4]), TypeAdapter(dict[str, float]).validate_json('{"a": "1.5"}'))
class Cat(BaseModel):
    type: str = "cat"
class Tree(BaseModel):
    value: int
    children: list["Tree"] = []
print(Tree(value=1, children=[{"value": 2}]).model_dump(), Cat.model_fields["type"].default, repr(Cat()))
# %% configuration in YAML
import yaml

text = """
# servers
defaults: &d
  port: 80
  tls: no
servers:
  - name: a
    <<: *d
  - {name: b, port: 8080}
started: 2024-02-03
ratio: 1e-3
note: |
  two
  lines
"""
data = yaml.safe_load(text)
print(data)
print(yaml.dump(data, sort_keys=False, default_flow_style=False))
print(yaml.safe_dump({"é": [1, 2.5, None, True]}, allow_unicode=True), list(yaml.safe_load_all("a: 1\n---\nb: 2")))
try:
    yaml.safe_load("a: [1, 2")
except yaml.YAMLError as error:
    print(type(error).__name__, error)
try:
    yaml.safe_load("!!python/object/apply:os.system ['x']")
except yaml.YAMLError as error:
    print(type(error).__name__, str(error)[:60])
# %% a page of products
from bs4 import BeautifulSoup

html = """<html><body><h1>Shop</h1><ul id=list>
<li class="item new" data-id=1><a href="/a?x=1">Tea</a> <b>2.50</b></li>
<li class="item" data-id=2><a href="/b">Milk &amp; more</a> <b>1.10</b></li></ul><script>x()</script>
<table><tr><th>n</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"""
soup = BeautifulSoup(html, "html.parser")
print(soup.title, soup.h1.text, [a["href"] for a in soup.find_all("a")])
print([(li["data-id"], li.a.get_text(strip=True), float(li.b.string), li["class"]) for li in soup.select("li.item")])
print([[cell.get_text() for cell in row.find_all(["td", "th"])] for row in soup.select("table tr")])
soup.script.decompose()
print(soup.find("li", class_="new").find_next_sibling("li").attrs, soup.ul.prettify())
print(BeautifulSoup("<p>a<p>b", "lxml").find_all("p"), soup.find("nope"), soup.get_text(" ", strip=True))
# %% XPath, namespaces, building
from lxml import etree, html

tree = etree.fromstring(b'<r xmlns:k="urn:k"><a n="1">x</a><a n="2">y<k:b/></a></r>')
print(tree.xpath("//a[@n>1]/text()"), tree.xpath("count(//a)"), [e.tag for e in tree.iter()])
tree.find("a").set("new", "é")
etree.SubElement(tree, "c").text = "<&>"
print(etree.tostring(tree, pretty_print=True, encoding="unicode"))
try:
    etree.fromstring("<a><b></a>")
except etree.XMLSyntaxError as error:
    print(error)
page = html.fromstring("<div><p class=x>one<p>two</div>")
print([p.text for p in page.findall(".//p")], html.tostring(page))
# %% dates that people write
from datetime import datetime
from dateutil import parser, rrule, tz
from dateutil.relativedelta import FR, relativedelta

for text in ("3 March 2024 14:05", "2024-02-30", "10/11/12", "Thu Sep 25 10:36:28 2003", "soon"):
    try:
        print(parser.parse(text, default=datetime(2024, 1, 1)))
    except parser.ParserError as error:
        print(type(error).__name__, error)
print(datetime(2024, 1, 31) + relativedelta(months=1), relativedelta(datetime(2024, 5, 1), datetime(2022, 2, 27)))
print(datetime(2024, 5, 1) + relativedelta(weekday=FR(-1)), parser.isoparse("2024-01-02T03:04:05Z"))
print([d.day for d in rrule.rrule(rrule.WEEKLY, count=3, dtstart=datetime(2024, 1, 1), byweekday=rrule.TU)])
print(datetime(2024, 7, 1, tzinfo=tz.gettz("Europe/Paris")).utcoffset(), parser.parse("10:00 UTC+3", default=datetime(2024, 1, 1)))
# %% a letter by a template
from jinja2 import DictLoader, Environment, StrictUndefined, Template, TemplateSyntaxError, UndefinedError

print(Template("Hello {{ name|title }}!{% for i in items if i %} {{ loop.index }}:{{ i }}{% endfor %}").render(name="ann lee", items=[1, 0, 3]))
env = Environment(loader=DictLoader({"base": "<{% block b %}{% endblock %}>", "page": "{% extends 'base' %}{% block b %}{{ x|money }}{% endblock %}"}), undefined=StrictUndefined, autoescape=True, trim_blocks=True)
env.filters["money"] = lambda value: f"{value:,.2f} <eur>"
print(env.get_template("page").render(x=1234.5))
for bad in ("{{ missing }}", "{% for %}", "{{ 1 / 0 }}", "{{ x.y.z }}"):
    try:
        print(env.from_string(bad).render(x={}))
    except (TemplateSyntaxError, UndefinedError, ZeroDivisionError) as error:
        print(type(error).__name__, error)
class User:
    name = "<Ann>"
    def greet(self, n): return "hi " * n
print(env.from_string("{{ u.name }} {{ u.greet(2) }} {% set a = [1,2]|sum %}{{ a }} {{ {'k': 1}|tojson }}").render(u=User()))
# %% scraped rows as validated models, and as YAML
import yaml
from bs4 import BeautifulSoup
from dateutil.parser import parse
from jinja2 import Template
from pydantic import BaseModel, ValidationError


class Event(BaseModel):
    title: str
    seats: int


page = BeautifulSoup("<p>Talk|30|3 May 2024</p><p>Walk|many|1 June 2024</p>", "html.parser")
for line in page.find_all("p"):
    title, seats, day = line.text.split("|")
    try:
        event = Event(title=title, seats=seats)
    except ValidationError as error:
        print(error.errors(include_url=False))
    else:
        print(yaml.safe_dump(event.model_dump() | {"day": parse(day).date()}))
        print(Template("{{ e.title }} has {{ e.seats }} seats").render(e=event))
# %% what code asks of the library beside packages
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from pydantic import AnyUrl, BaseModel, Field, SecretStr, field_serializer


class Order(BaseModel):
    id: UUID
    total: Decimal = Field(max_digits=6, decimal_places=2)
    wait: timedelta
    where: AnyUrl
    password: SecretStr

    @field_serializer("total")
    def show(self, total: Decimal) -> str:
        return f"{total} EUR"


order = Order(id="12345678123456781234567812345678", total="12.50", wait="PT90S", where="https://x.org/a?b=1", password="p")
print(order, order.model_dump_json(), order.where.host, order.password.get_secret_value(), hash(order.id) == hash(UUID(int=order.id.int)))
print(Order.model_json_schema()["properties"]["total"], list(Order.model_fields), order.model_fields_set == set(Order.model_fields))
