"""Feed a parser from its own target, and from code that a collection runs while it works."""

# stopped: harmless

import xml.etree.ElementTree as ET
class Target:
    def start(self, tag, attributes):
        for call in (lambda: parser.feed("<x>"), lambda: parser._events.__init__(), parser.close):
            try:
                call()
            except (ET.ParseError, ValueError, AttributeError, TypeError, RecursionError):
                pass
    def end(self, tag): ...
    def data(self, text): ...
parser = ET.XMLParser(target=Target())
try:
    parser.feed("<a><b/><c>")
except ET.ParseError:
    pass

plain = ET.XMLParser()
def waiting():
    try:
        yield
    finally:
        try:
            plain.feed("</a>" * 3)
        except (ET.ParseError, ValueError):
            pass
class Ring: ...
for _ in range(300):
    ring = Ring()
    ring.own, ring.held = ring, waiting()
    next(ring.held)
try:
    plain.feed("<a>" + "<b c='d'>e</b>" * 20000)
except ET.ParseError:
    pass
