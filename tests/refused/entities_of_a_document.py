# what: entity declarations in XML
# why: they can name files, and grow without end
# raises: ParseError: entity declarations are refused here
import xml.etree.ElementTree as ET
ET.fromstring('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
