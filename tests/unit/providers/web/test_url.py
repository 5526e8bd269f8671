"""URLs: one parser. `test_ssrf` has what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.providers.web.url import Url, UrlError, parse_url, redirect_target


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTPS://Example.ORG/A?b=C#d", "https://example.org/A?b=C"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:8080?x", "http://example.org:8080/?x"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://[2001:db8:0::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("https://de.example.org/wiki/Käse", "https://de.example.org/wiki/K%C3%A4se"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http://a.b/%2e%2e/%zz", "http://a.b/%2e%2e/%zz"),
        ('http://a.b/"<x>`{y}', "http://a.b/%22%3Cx%3E%60%7By%7D"),
        ("http://a.b/x?u=http://c@d/", "http://a.b/x?u=http://c@d/"),
    ],
)
def test_the_normal_form(text: str, normal: str) -> None:
    """It is the same once it is normal."""
    assert str(parse_url(text)) == normal
    assert str(parse_url(normal)) == normal


@given(st.text(max_size=40), st.sampled_from(["http://", "https://", "http://a", ""]))
def test_any_text_is_a_url_or_refused(text: str, start: str) -> None:
    """A URL is ASCII, has no control characters, and means the same when it is read again."""
    try:
        url = parse_url(start + text)
    except UrlError:
        return
    assert parse_url(str(url)) == url
    assert all(0x20 < ord(character) < 0x7F for character in str(url))


@given(st.text(max_size=40))
def test_any_location_is_a_url_or_refused(location: str) -> None:
    """As for URLs that callers give."""
    base = Url("https", "a.example", 443, "/x/y?z")
    try:
        target = redirect_target(base, location)
    except UrlError:
        return
    assert str(parse_url(target)) == target
