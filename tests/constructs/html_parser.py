# `html.parser`
import html.parser
from html.parser import HTMLParser


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []
        self._text = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_data(self, data):
        self._text.append(data)


links = Links()
links.feed('<!DOCTYPE html><p>See <a href="/x?a=1&amp;b=2">this &amp; that</a><br/><!-- no -->')
links.close()
assert links.links == ["/x?a=1&b=2"] and "".join(links._text) == "See this & that"
assert issubclass(Links, html.parser.HTMLParser) and html.escape("<") == "&lt;"
