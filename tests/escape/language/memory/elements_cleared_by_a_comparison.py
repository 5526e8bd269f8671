"""Empty an element of XML while its children are compared, searched and copied."""

# stopped: harmless

import copy
import xml.etree.ElementTree as ET
class Child(ET.Element):
    def __eq__(self, other): root.clear(); return True
    def __hash__(self): return 1
class Name(str):
    def __eq__(self, other): root.clear(); return True
    def __hash__(self): return 1
class Text:
    def __copy__(self): root.clear(); return self
root = ET.Element("r")
for use in (
    lambda: root.remove(Child("b")),
    lambda: root.find(Name("q")),
    lambda: root.findall(Name("q")),
    lambda: root.findtext(Name("q")),
    lambda: list(root.iter(Name("q"))),
    lambda: copy.deepcopy(root),
    lambda: ET.tostring(root),
):
    root.clear()
    for _ in range(10):
        root.append(Child("a"))
        root[-1].text = Text()
    try:
        use()
    except (ValueError, TypeError, IndexError, SyntaxError):
        pass
