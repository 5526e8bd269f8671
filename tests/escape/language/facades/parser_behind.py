"""Reach the parser of the library behind a document."""

# stopped: raises AttributeError
# because: has no private attributes

import xml.etree.ElementTree as ET
take(ET.XMLParser()._events._parser)
