# package: Jinja2
# modules: jinja2
import jinja2
from jinja2 import DictLoader, Environment, StrictUndefined, Template

# %% templates, inheritance, filters, macros, escaping, errors
assert Template("{% for x in xs %}{{ x|upper }},{% endfor %}").render(xs=["a", "b"]) == "A,B,"
e = Environment(loader=DictLoader({"base": "<{% block b %}{% endblock %}>", "t": "{% extends 'base' %}{% block b %}{{ v }}{% endblock %}"}), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
assert e.get_template("t").render(v="&") == "<&amp;>"
e.filters["double"] = lambda v: v * 2
assert e.from_string("{{ 2|double }} {{ {'a': 1}|tojson }} {{ [1,2]|sum }} {{ 'x y'|urlencode }}{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1) }}").render()
try:
    e.from_string("{{ nope }}").render()
except jinja2.UndefinedError as err:
    print(err)
try:
    Template("{% for %}")
except jinja2.TemplateSyntaxError as err:
    print(err)
# %% the version
assert jinja2.__version__
