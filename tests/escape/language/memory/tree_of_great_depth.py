"""Parse a document, and a program, that nest very deeply, and free their trees."""

# stopped: harmless or limited
# where: worker

import ast
import xml.etree.ElementTree as ET
root = ET.fromstring("<a>" * 200_000 + "</a>" * 200_000)
for use in (lambda: ET.tostring(root), lambda: list(root.iter()), lambda: "".join(root.itertext())):
    try:
        use()
    except RecursionError:
        pass
del root
for source in ("+".join("1" * 100_000), "-" * 100_000 + "1", "(" * 10_000, "a" + ".b" * 50_000, "[" * 90 + "]" * 90):
    try:
        tree = ast.parse(source)
        ast.dump(tree)
        ast.unparse(tree)
    except (RecursionError, MemoryError, SyntaxError):
        pass
