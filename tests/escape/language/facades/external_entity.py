"""Read a file by an external entity of an XML document."""

# stopped: raises ParseError
# because: entity declarations are refused here

import xml.etree.ElementTree as ET
text = ET.fromstring('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>').text
if text:
    escaped()
