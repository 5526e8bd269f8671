"""Declare an entity by a parameter entity."""

# stopped: raises ParseError
# because: entity declarations are refused here

import xml.etree.ElementTree as ET
ET.fromstring('<!DOCTYPE a [<!ENTITY % p "<!ENTITY x SYSTEM \'file:///etc/passwd\'>"> %p;]><a>&x;</a>')
escaped()
