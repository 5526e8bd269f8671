"""Host names and the patterns that name them."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from caps.security.hosts import HostPatterns, host_name, host_pattern, is_covered


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Docs.Python.org", "docs.python.org"),
        ("localhost", "localhost"),
        ("a_b.example", "a_b.example"),
        ("192.0.2.1", "192.0.2.1"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("1.2.3.4.example", "1.2.3.4.example"),
    ],
)
def test_a_host_has_one_form(text: str, name: str) -> None:
    """Lower case, IDNA, the shortest address."""
    assert host_name(text) == name
    assert host_name(name) == name


@pytest.mark.parametrize(
    "text",
    [
        "", "a.", ".a", "a..b", "-a", "a-", "a" * 64, ".".join(["a" * 60] * 5), "a b", "a%41",
        "127.1", "0x7f.1", "1", "0177.0.0.1", "1.2.3.4.5", "256.1.1.1", "a.0x1", "a.5",
        "BÜCHER.example", "ｅxample.org", "a。b", "a\u200bb.c", "ℂ.example", "a*b", "*", "*.a",
        "fe80::1%eth0", "::g", "[::1]", "a/b", "a@b", "a:80",
    ],
)  # fmt: skip
def test_what_could_mean_another_host_is_refused(text: str) -> None:
    """There is no second spelling."""
    with pytest.raises(ValueError):
        host_name(text)


@pytest.mark.parametrize(
    ("pattern", "covered", "others"),
    [
        ("example.org", ["example.org"], ["www.example.org", "example.org.evil.test", "org"]),
        (
            "*.example.org",
            ["www.example.org", "a.b.example.org"],
            ["example.org", "evilexample.org", "www.example.org.evil.test", "www.example.com"],
        ),
        ("*", ["a", "1.2.3.4", "::1"], []),
        ("[::1]", ["::1"], ["::2", "1"]),
        ("1.2.3.4", ["1.2.3.4"], ["1.2.3.5"]),
        ("*.Bücher.example".lower(), ["x.xn--bcher-kva.example"], ["xn--bcher-kva.example"]),
    ],
)
def test_patterns(pattern: str, covered: list[str], others: list[str]) -> None:
    """A wildcard is for whole labels, and not for the name itself."""
    patterns = (host_pattern(pattern),)
    assert [host for host in covered if not is_covered(host, patterns)] == []
    assert [host for host in others if is_covered(host, patterns)] == []


@pytest.mark.parametrize(
    "pattern",
    ["", "*.", "**", "*a.org", "a.*.org", "*.*.org", "*.1.2.3.4", "*.127.1", "http://a", "a:80"],
)
def test_what_is_not_a_pattern_is_refused(pattern: str) -> None:
    """A policy with it is an error."""
    with pytest.raises(ValidationError):
        TypeAdapter(HostPatterns).validate_python([pattern])


def test_an_address_is_below_no_name() -> None:
    """`*.0.0.1` cannot be written, and would match nothing."""
    assert not is_covered("127.0.0.1", ("*.0.0.1", "*.1"))
