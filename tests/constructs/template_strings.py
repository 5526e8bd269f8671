# template strings (from Python 3.14 on)
from string.templatelib import Interpolation, Template


def html(template: Template) -> str:
    parts = []
    for part in template:
        if isinstance(part, Interpolation):
            text = format(part.value, part.format_spec)
            parts.append(text.replace("<", "&lt;"))
        else:
            parts.append(part)
    return "".join(parts)


name, count = "<b>", 3
greeting = t"Hello {name}, {count:03} {name!r}"
assert html(greeting) == "Hello &lt;b>, 003 &lt;b>"
assert greeting.strings == ("Hello ", ", ", " ", "") and greeting.values == ("<b>", 3, "<b>")
assert [one.expression for one in greeting.interpolations] == ["name", "count", "name"]
assert greeting.interpolations[2].conversion == "r"
assert html(t"a" + t"{1}") == "a1"
