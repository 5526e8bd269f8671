"""Masking: a value is found in the forms in which a server may echo it."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.capabilities.secrets.masking import MASK, Masker

PLAIN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
ODD = "p\"a/s\\s&w<o>rd +ü%é'~_*"

FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "json": lambda value: json.dumps({"a": value}),
    "json without escapes": lambda value: json.dumps({"a": value}, ensure_ascii=False),
    "json with slashes": lambda value: json.dumps({"a": value}).replace("/", "\\/"),
    "query": lambda value: "?a=" + quote_plus(value),
    "percent": lambda value: quote(value, safe=""),
    "percent, lower case": lambda value: re.sub(
        "%..", lambda found: found[0].lower(), quote(value, safe="")
    ),
    "percent, twice": lambda value: quote(quote(value, safe=""), safe=""),
    "path": lambda value: "/" + quote(value),
    "html": lambda value: f"<p>{html.escape(value)}</p>",
    "html, text only": lambda value: html.escape(value, quote=False),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64, url": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "basic": lambda value: "Basic " + base64.b64encode(f"user:{value}".encode()).decode(),
    "basic, longer": lambda value: base64.b64encode(f"me:{value}:and more".encode()).decode(),
    "base64, third place": lambda value: base64.b64encode(f"ab{value}".encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "hex, upper case": lambda value: value.encode().hex().upper(),
}


@pytest.mark.parametrize("value", [PLAIN, ODD])
@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_a_value(form: str, value: str) -> None:
    """None of it is left, and the text around it stays."""
    echo = FORMS[form](value)
    masked = Masker([value]).masked(f"before {echo} after")
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert MASK in masked
    assert Masker([value]).is_in(echo)
    assert value not in masked
    assert echo not in masked


def test_no_digit_of_base64_is_left() -> None:
    """Those at the edges hold bits of the value, too."""
    for before in ("", "a", "ab", "abc"):
        for after in ("", "z", "zy"):
            text = base64.b64encode(f"{before}{PLAIN}{after}".encode()).decode()
            masked = Masker([PLAIN]).masked(text)
            left = masked.replace(MASK, "")
            known = base64.b64encode(before.encode()).decode().rstrip("=")
            assert known.startswith(left[: len(known)].rstrip("="))
            assert len(left) <= 8


@given(st.text(min_size=8, max_size=40), st.text(max_size=30), st.text(max_size=30))
def test_a_value_is_never_left(value: str, before: str, after: str) -> None:
    """Whatever it is made of, and whatever stands next to it."""
    masked = Masker([value]).masked(before + value + after)
    assert value not in masked or value in MASK


@pytest.mark.parametrize("length", range(4, len(PLAIN)))
def test_the_beginning_of_a_value_at_the_end_of_a_cut_text(length: int) -> None:
    """A limit in the middle of a value does not show half of it."""
    masked = Masker([PLAIN]).masked("text " + PLAIN[:length], cut_off=True)
    assert masked == f"text {MASK}"


def test_ordinary_text_stays() -> None:
    """Also if it is cut off, and if there is nothing to mask."""
    assert Masker([PLAIN]).masked("a gh", cut_off=True) == "a gh"
    assert Masker([]).masked("text", cut_off=True) == "text"
    assert not Masker([])


def test_a_value_within_another() -> None:
    """The longer one is masked as a whole."""
    assert Masker(["abcdefgh", "abcdefghijkl"]).masked("x abcdefghijkl y") == f"x {MASK} y"
