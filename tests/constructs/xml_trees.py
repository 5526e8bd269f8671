# `xml.etree.ElementTree` and `xml.sax.saxutils`
import io
import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

text = """<?xml version="1.0"?>
<shop xmlns:p="urn:price"><!-- two -->
  <item id="1"><name>A &amp; B</name><p:net>10.5</p:net></item>
  <item id="2"><name>C</name><p:net>20</p:net></item>
</shop>"""
root = ET.fromstring(text)
assert root.tag == "shop" and len(root) == 2 and root[0].attrib == {"id": "1"}
assert [name.text for name in root.iter("name")] == ["A & B", "C"]
assert root.find("item[@id='2']/name").text == "C"
assert sum(float(net.text) for net in root.findall(".//p:net", {"p": "urn:price"})) == 30.5
added = ET.SubElement(root, "item", id="3")
ET.SubElement(added, "name").text = "É <x>"
assert ET.tostring(added) == b'<item id="3"><name>&#201; &lt;x&gt;</name></item>'
assert ET.tostring(added, encoding="unicode") == '<item id="3"><name>É &lt;x&gt;</name></item>'
ET.indent(added)
assert ET.tostring(added, encoding="unicode").count("\n") == 2
written = io.BytesIO()
ET.ElementTree(root).write(written, encoding="utf-8", xml_declaration=True)
assert ET.parse(io.BytesIO(written.getvalue())).getroot()[2][0].text == "É <x>"
ended = [one.tag for _, one in ET.iterparse(io.StringIO(text)) if one.tag == "item"]
assert ended == ["item", "item"]
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as error:
    assert str(error) == "mismatched tag: line 1, column 8" and error.position == (1, 8)
assert escape("<&>") == "&lt;&amp;&gt;" and quoteattr("x") == '"x"'
