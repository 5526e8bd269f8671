# package: lxml
# modules: lxml
import io
from lxml import etree, html

# %% XPath, building and printing, HTML, XSLT, XML Schema, parsing from memory
r = etree.fromstring("<r><a n='1'>x</a></r>")
assert r.xpath("//a/@n") == ["1"] and r.findtext("a") == "x"
etree.tostring(r, pretty_print=True).decode(); etree.SubElement(r, "b").text = "t"
html.fromstring("<p>x<a href='u'>y</a></p>").text_content()
etree.XSLT(etree.XML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><o/></xsl:template></xsl:stylesheet>'))(r)
etree.parse(io.BytesIO(b"<a/>")).getroot(); list(etree.iterparse(io.BytesIO(b"<a><b/></a>"))); etree.HTML("<p>x")
etree.XMLSchema(etree.XML('<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"/></xs:schema>'))
