# package: beautifulsoup4
# modules: bs4 lxml
from bs4 import BeautifulSoup

# %% finding, selecting, reading text and attributes, changing the tree; with `html.parser`, and with `lxml` if it is granted
for parser in ("html.parser", "lxml"):
    s = BeautifulSoup("<html><body><p class=a>Hi <b>x</b></p><a href='/u'>l</a></body></html>", parser)
    assert s.p.get_text() == "Hi x" and s.find("a")["href"] == "/u"
    assert [t.name for t in s.find_all(True)][:2] == ["html", "body"]
    assert s.select_one("p.a b").text == "x"
    s.prettify(); print(s.title, s.p.attrs)
    s.b.decompose(); s.p.append("y")
BeautifulSoup("<a><b/></a>", "xml").find("b")
